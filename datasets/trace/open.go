package trace

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"goodput/datasets"
)

// Format is a kind of trace file. The package documentation has a table of what
// each of them holds, with its units.
type Format string

// The formats.
const (
	Azure      Format = "azure"
	Mooncake   Format = "mooncake"
	TimedTrace Format = "timed_trace"
	BurstGPT   Format = "burstgpt"
	ShareGPT   Format = "sharegpt"
	Batch      Format = "openai-batch"
	Chat       Format = "openai-chat"
	Custom     Format = "custom"
	Weka       Format = "weka"
	TraceLab   Format = "tracelab"
	RAGPulse   Format = "ragpulse"
	ServeGen   Format = "servegen"
	OTel       Format = "otel"
	VLLMReplay Format = "vllm_replay"
	Native     Format = "goodput"
)

// All lists the formats in the order of the documentation.
func All() []Format {
	return []Format{Azure, Mooncake, TimedTrace, BurstGPT, ShareGPT, Batch, Chat, Custom, Weka, TraceLab, RAGPulse, ServeGen, OTel, VLLMReplay, Native}
}

// opener begins to read a format.
type opener struct {
	read func(r io.Reader, path string, opts Options) (source, error)
	// time is the field that holds a row's time, for messages.
	time string
}

var formats = map[Format]opener{
	Azure:      {newAzure, "TIMESTAMP"},
	Mooncake:   {newMooncake, "timestamp"},
	TimedTrace: {newTimedTrace, "timestamp"},
	BurstGPT:   {newBurstGPT, "Timestamp"},
	ShareGPT:   {newShareGPT, ""},
	Batch:      {newBatch, ""},
	Chat:       {newChat, ""},
	Custom:     {newCustom, ""},
	Weka:       {newWeka, "t"},
	TraceLab:   {newTraceLab, "arrival_time"},
	RAGPulse:   {newRAGPulse, "timestamp"},
	ServeGen:   {newServeGen, "window"},
	OTel:       {newOTel, "start_time"},
	VLLMReplay: {newVLLMReplay, "arrival_s"},
	Native:     {newNative, "at_ns"},
}

func names() string {
	var all []string
	for _, f := range All() {
		all = append(all, string(f))
	}
	return strings.Join(all, ", ")
}

// Options are what a file does not say.
type Options struct {
	// Seed decides the content of prompts that the format does not identify, and
	// of all answers. The content of an identified block does not depend on it.
	Seed uint64
	// SkipBadRows leaves out rows that are not as the format says.
	SkipBadRows bool
	// OutputLen is the answer's length where the format need not say it (Custom,
	// Batch, Chat); 0: 256.
	OutputLen int
	// AnswerLen is the length of all answers of ShareGPT; 0: that of the recorded ones.
	AnswerLen int
	// TimedBlock is the tokens of a hash id of TimedTrace; 0: 16. TimedUnit is the
	// seconds of one of its timestamps; 0: 1.
	TimedBlock int
	TimedUnit  float64
	// TimedTime, TimedIn, TimedOut and TimedIDs are what TimedTrace's fields are called;
	// empty: timestamp, input_length, output_length and hash_ids.
	TimedTime, TimedIn, TimedOut, TimedIDs string
}

func (o Options) timedNames() [len(mooncakeFields)]string {
	out := mooncakeFields
	for i, name := range [...]string{o.TimedTime, o.TimedIn, o.TimedOut, o.TimedIDs} {
		if name != "" {
			out[i] = name
		}
	}
	return out
}

func (o Options) outputLen() int {
	if o.OutputLen > 0 {
		return o.OutputLen
	}
	return 256
}

// Open reads the trace file at path into memory. The set takes about 16 bytes per
// row, 8 per span of identified content and 9 per distinct one; rows of sessions
// take 24 more.
func Open(format Format, path string, opts Options) (*Table, error) {
	d, err := NewReader(format, path, opts)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return load(d, opts)
}

// read is Open for a file already open.
func read(format Format, r io.Reader, path string, opts Options) (datasets.Set, error) {
	src, err := formats[format].read(r, path, opts)
	if err != nil {
		return nil, err
	}
	t, err := load(&Reader{format: format, path: path, file: io.NopCloser(r), from: src, skip: opts.SkipBadRows, contexts: map[uint64]int{}}, opts)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// name is how a set calls itself: the format, the file without its folders, and
// the number of rows.
func name(format Format, path string, rows int, seed uint64) string {
	return fmt.Sprintf("%s(%s, rows %d, seed %d)", format, filepath.Base(path), rows, seed)
}

// blank reports whether a line holds nothing but white space.
func blank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }
