// Package plan is the description of a run: every parameter, its YAML key (which
// is also the flag's name), its default, its check, and a hash over all that
// decides what the run does. It is pure data.
//
// It opens no file but the text it is handed, and it knows nothing of flags,
// clocks or networks.
package plan
