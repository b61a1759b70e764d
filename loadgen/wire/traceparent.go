package wire

import (
	"encoding/hex"
	"strings"
)

// Traceparent is what the header of that name says (W3C Trace Context, level 1).
type Traceparent struct {
	Trace   [16]byte
	Parent  [8]byte
	Sampled bool
}

// ParseTraceparent reads the header strictly; ok is false for one that is to be
// ignored. Of versions after 00 it reads the fields that 00 has.
func ParseTraceparent(h string) (c Traceparent, ok bool) {
	const size = 55
	if len(h) < size || h[2] != '-' || h[35] != '-' || h[52] != '-' || h != strings.ToLower(h) {
		return c, false
	}
	version := h[:2]
	if version == "ff" || version == "00" && len(h) != size || len(h) > size && h[size] != '-' {
		return c, false
	}
	var flags, v [1]byte
	for _, f := range []struct {
		to   []byte
		text string
	}{{v[:], version}, {c.Trace[:], h[3:35]}, {c.Parent[:], h[36:52]}, {flags[:], h[53:55]}} {
		if _, err := hex.Decode(f.to, []byte(f.text)); err != nil {
			return Traceparent{}, false
		}
	}
	c.Sampled = flags[0]&1 != 0
	return c, c.Trace != [16]byte{} && c.Parent != [8]byte{}
}

// String is the header, in version 00.
func (c Traceparent) String() string {
	flags := "-00"
	if c.Sampled {
		flags = "-01"
	}
	return "00-" + hex.EncodeToString(c.Trace[:]) + "-" + hex.EncodeToString(c.Parent[:]) + flags
}
