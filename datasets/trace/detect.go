package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// sniffed is how much of a file is read to tell its format.
const sniffed = 256 << 10

// Detect tells the format of the file at path by its first bytes. It fails where
// two formats look alike, and says which.
func Detect(path string) (Format, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("open trace: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file: say its format", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open trace: %w", err)
	}
	defer f.Close()
	start := make([]byte, sniffed)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", fmt.Errorf("read trace: %w", err)
	}
	format, why := sniff(start[:n])
	if format == "" {
		return "", fmt.Errorf("%s: %s: say its format, one of %s", path, why, names())
	}
	return format, nil
}

// sniff tells the format of text, or why it can't.
func sniff(text []byte) (f Format, why string) {
	text = bytes.TrimLeft(text, " \t\r\n")
	line, _, _ := bytes.Cut(text, []byte("\n"))
	line = bytes.TrimRight(line, "\r")
	if len(text) == 0 {
		return "", "the file is empty"
	}
	switch {
	case text[0] == '[':
		return ShareGPT, ""
	case text[0] != '{':
		return sniffCSV(string(line))
	}
	keys := firstKeys(text)
	has := func(names ...string) bool {
		for _, n := range names {
			if !keys[n] {
				return false
			}
		}
		return true
	}
	switch {
	case has("goodput_trace"):
		return Native, ""
	case has("custom_id"):
		return Batch, ""
	case has("messages"):
		return Chat, ""
	case has("prompt"):
		return Custom, ""
	case has("requests"), has("hash_id_scope"):
		return Weka, ""
	case has("resourceSpans"), has("spans"):
		return OTel, ""
	case has("chat_id"):
		return "", "this looks like a Qwen Bailian trace, which is not supported"
	case has("round_index"):
		return "", "this looks like a round log of TraceLab, of which only the replay CSV is supported"
	case has("hash_ids"), has("input_length"):
		return sniffBlocks(line)
	}
	return "", "found JSON of no known format"
}

func sniffCSV(header string) (f Format, why string) {
	has := func(name string) bool { return strings.Contains(","+header+",", ","+name+",") }
	switch {
	case has("ContextTokens"):
		return Azure, ""
	case has("Request tokens"):
		return BurstGPT, ""
	case has("prompt_block_ids"):
		return VLLMReplay, ""
	case has("prefix_len"):
		return TraceLab, ""
	case strings.Count(header, ",") == 5 && isDigit(header[0]):
		return ServeGen, ""
	}
	return "", "found no known header"
}

// sniffBlocks tells formats with hash ids apart by the type of the ids and the
// number of tokens that one of them stands for.
func sniffBlocks(line []byte) (f Format, why string) {
	var row struct {
		Timestamp json.RawMessage `json:"timestamp"`
		Session   string          `json:"session_id"`
		In        int             `json:"input_length"`
		IDs       json.RawMessage `json:"hash_ids"`
	}
	if json.Unmarshal(line, &row) != nil {
		return "", "found a first line that is no whole JSON object"
	}
	var ids []int64
	if len(row.IDs) > 0 && row.IDs[0] == '{' {
		return RAGPulse, ""
	}
	if row.Session != "" {
		return Mooncake, ""
	}
	if json.Unmarshal(row.IDs, &ids) != nil {
		return "", "found hash_ids that are no array"
	}
	long := len(ids) == (row.In+mooncakeBlock-1)/mooncakeBlock
	short := len(ids) == (row.In+timedBlock-1)/timedBlock
	switch {
	case long && !short:
		return Mooncake, ""
	case short && !long:
		return TimedTrace, ""
	case long && short:
		return "", "the first row fits the formats mooncake and timed_trace"
	}
	return "", fmt.Sprintf("%d hash_ids for %d tokens fit neither blocks of %d (mooncake) nor of %d (timed_trace)", len(ids), row.In, mooncakeBlock, timedBlock)
}

// firstKeys are the keys of the first JSON object of text, which may be cut.
func firstKeys(text []byte) map[string]bool {
	keys := map[string]bool{}
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return keys
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return keys
		}
		name, _ := key.(string)
		keys[name] = true
		var skipped json.RawMessage
		if dec.Decode(&skipped) != nil {
			return keys
		}
	}
	return keys
}

// hint adds to the error of a file's beginning which format the file seems to be of.
func hint(format Format, path string, err error) error {
	if like, e := Detect(path); e == nil && like != format {
		return fmt.Errorf("%w (the file looks like %s: is --dataset-name right?)", err, like)
	}
	return err
}
