//go:build !linux

package cli

// adviseHuge does nothing: there is nobody to ask.
func adviseHuge([]byte) bool { return false }
