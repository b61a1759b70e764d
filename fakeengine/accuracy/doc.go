// Package accuracy compares what fake engines predict with what others have
// measured: step times by package steptime, everything that a load has a part in by
// running an engine under that load (package trial). It sums errors up and holds
// them against bounds.
//
// It measures nothing itself and changes no profile; the measurements are in
// profiles/evidence.
package accuracy
