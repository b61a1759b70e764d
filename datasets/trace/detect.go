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
	if why != nil {
		return "", fmt.Errorf("%s:%d: %s: %s: say its format, one of %s", path, why.line, why.field, why.text, names())
	}
	return format, nil
}

// doubt is why no format can be told, and where that shows.
type doubt struct {
	line        int // from 1
	field, text string
}

// sniff tells the format of text, or why it can't.
func sniff(text []byte) (Format, *doubt) {
	all := text
	text = bytes.TrimLeft(text, " \t\r\n")
	at := 1 + bytes.Count(all[:len(all)-len(text)], []byte("\n"))
	line, _, _ := bytes.Cut(text, []byte("\n"))
	line = bytes.TrimRight(line, "\r")
	if len(text) == 0 {
		return "", &doubt{1, "row", "found no rows, expected at least one: is this the right file?"}
	}
	switch {
	case text[0] == '[':
		return ShareGPT, nil
	case text[0] != '{':
		if f := sniffCSV(string(line)); f != "" {
			return f, nil
		}
		return "", &doubt{at, "header", "found no known header"}
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
	unsupported := func(what string) (Format, *doubt) {
		return "", &doubt{at, "row", "this looks like " + what}
	}
	switch {
	case has("goodput_trace"):
		return Native, nil
	case has("custom_id"):
		return Batch, nil
	case has("messages"):
		return Chat, nil
	case has("prompt"):
		return Custom, nil
	case has("requests"), has("hash_id_scope"):
		return Weka, nil
	case has("resourceSpans"), has("spans"):
		return OTel, nil
	case has("chat_id"):
		return unsupported("a Qwen Bailian trace, which is not supported")
	case has("round_index"):
		return unsupported("a round log of TraceLab, of which only the replay CSV is supported")
	case has("input_toks"):
		return unsupported("a trace of LLMServingSim, which is not supported")
	case numbered(keys):
		return unsupported("the lengths of a ServeGen client: give the CSV of its windows, beside which they are found")
	case has("hash_ids"), has("input_length"), has("timestamp"):
		return sniffRows(text, at)
	}
	return "", &doubt{at, "row", "found JSON of no known format"}
}

func sniffCSV(header string) Format {
	has := func(name string) bool { return strings.Contains(","+header+",", ","+name+",") }
	switch {
	case has("ContextTokens"):
		return Azure
	case has("Request tokens"):
		return BurstGPT
	case has("prompt_block_ids"):
		return VLLMReplay
	case has("prefix_len"):
		return TraceLab
	case strings.Count(header, ",") == 5 && isDigit(header[0]):
		return ServeGen
	}
	return ""
}

// sniffRows tells formats with hash ids apart by the first of the lines that can tell;
// at is the number of the first. If none can, it says what the first one lacks.
func sniffRows(text []byte, at int) (Format, *doubt) {
	var first *doubt
	for ; len(text) > 0; at++ {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		if blank(line) {
			continue
		}
		f, why := sniffBlocks(line, at)
		if why == nil {
			return f, nil
		}
		if first == nil {
			first = why
		}
	}
	return "", first
}

// sniffBlocks tells formats with hash ids apart by the type of the ids and the
// number of tokens that one of them stands for.
func sniffBlocks(line []byte, at int) (Format, *doubt) {
	var row struct {
		Timestamp json.RawMessage `json:"timestamp"`
		Session   string          `json:"session_id"`
		In        int             `json:"input_length"`
		IDs       json.RawMessage `json:"hash_ids"`
	}
	if json.Unmarshal(line, &row) != nil {
		return "", &doubt{at, "row", "found a line that is no whole JSON object"}
	}
	var ids []int64
	if len(row.IDs) > 0 && row.IDs[0] == '{' {
		return RAGPulse, nil
	}
	if row.Session != "" {
		return Mooncake, nil
	}
	if json.Unmarshal(row.IDs, &ids) != nil {
		return "", &doubt{at, "hash_ids", "found no array of whole numbers"}
	}
	long := len(ids) == (row.In+mooncakeBlock-1)/mooncakeBlock
	short := len(ids) == (row.In+timedBlock-1)/timedBlock
	switch {
	case long && !short:
		return Mooncake, nil
	case short && !long:
		return TimedTrace, nil
	case long && short:
		return "", &doubt{at, "hash_ids", "the row fits the formats mooncake and timed_trace"}
	}
	return "", &doubt{at, "hash_ids", fmt.Sprintf("%d of them for %d tokens fit neither blocks of %d (mooncake) nor of %d (timed_trace)", len(ids), row.In, mooncakeBlock, timedBlock)}
}

// numbered reports whether an object has keys that are numbers, as that of ServeGen's
// windows.
func numbered(keys map[string]bool) bool {
	for k := range keys {
		if k != "" && strings.Trim(k, "0123456789") == "" {
			return true
		}
	}
	return false
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
