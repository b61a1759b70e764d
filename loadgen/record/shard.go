package record

// Shard is the part of one load that a process offered: part Index, from 0, of Of.
type Shard struct {
	Index int `json:"index"`
	Of    int `json:"of"`
}

// MergedShard is what a merged run keeps of one of its parts.
type MergedShard struct {
	Shard
	Started string `json:"started,omitempty"`
	// Verdict says how the generator of the part fared, and Why gives the evidence.
	Verdict string   `json:"verdict"`
	Why     []string `json:"why,omitempty"`
	// Counts is the account of its requests; nil: it ended without one.
	Counts    *Counts    `json:"counts,omitempty"`
	Generator *Generator `json:"generator,omitempty"`
}
