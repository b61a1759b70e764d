package trace

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"goodput/datasets"
)

// Format is a kind of trace file.
type Format string

const (
	// Azure is the CSV of the Azure LLM inference traces of 2023, with the columns
	// TIMESTAMP (date and time of day, up to nanoseconds), ContextTokens and
	// GeneratedTokens in any order. The time zone that the traces of 2024 add is
	// understood; without one, times are UTC. The format does not say which
	// prompts begin alike.
	Azure Format = "azure"
	// Mooncake is the JSONL of the traces published with the Mooncake paper (FAST
	// 2025), with timestamp in milliseconds, input_length, output_length and
	// hash_ids: one id for each block of 512 prompt tokens, the last of which may
	// be partial. Equal ids stand for equal content.
	Mooncake Format = "mooncake"
)

// Options are what a file does not say.
type Options struct {
	// Seed decides the content of prompts that the format does not identify, and
	// of all answers. The content of an identified block does not depend on it.
	Seed uint64
}

// Open reads the trace file at path into memory. The set is Timed. Azure takes
// 16 bytes per row, Mooncake 24 and 4 per block, and 9 per distinct block.
func Open(format Format, path string, opts Options) (datasets.Set, error) {
	var read func(io.Reader, string, Options) (datasets.Set, error)
	switch format {
	case Azure:
		read = readAzure
	case Mooncake:
		read = readMooncake
	default:
		return nil, fmt.Errorf("trace format %q is not known: use %s or %s", format, Azure, Mooncake)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s trace: %w", format, err)
	}
	defer f.Close()
	return read(f, path, opts)
}

// name is how a set calls itself: the format, the file without its folders, and
// the number of rows.
func name(format Format, path string, rows int, seed uint64) string {
	return fmt.Sprintf("%s(%s, rows %d, seed %d)", format, filepath.Base(path), rows, seed)
}
