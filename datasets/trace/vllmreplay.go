package trace

import (
	"bytes"
	"io"
	"math"
	"strconv"

	"goodput/datasets"
	"goodput/loadgen/rng"
)

// replayBlock is the tokens that one block id of a recording stands for.
const replayBlock = 16

// vllmReplay reads the CSV of a recorded run of vLLM. An id stands for a full block
// of the prompt and all before it; what is behind the last one is the row's own.
// What came of the requests is not read.
type vllmReplay struct {
	csv         *csvRows
	blocks, own rng.Family
	n           uint64 // rows so far
}

// The wanted columns.
const (
	replayTime = iota
	replayIn
	replayOut
	replayIDs
)

func newVLLMReplay(r io.Reader, path string, opts Options) (source, error) {
	rows, err := newCSVRows(newLines(r, path), []string{"arrival_s", "input_tokens", "output_tokens", "prompt_block_ids"}, nil)
	if err != nil {
		return nil, err
	}
	return &vllmReplay{csv: rows, blocks: rng.Of(0, "vllm_replay block"), own: rng.Of(opts.Seed, "vllm_replay rest")}, nil
}

func (*vllmReplay) traits() Traits {
	return Traits{Timed: true, Recorded: true, Ordered: true, Identified: true, Chained: true, Block: replayBlock}
}

func (v *vllmReplay) next(r *Row) error {
	if err := v.csv.next(); err != nil {
		return err
	}
	f, l := v.csv.fields, v.csv.l
	r.alone()
	r.Line = l.n
	v.n++
	var ok bool
	if r.At, ok = parseDecimal(f[replayTime], 1e9); !ok || r.At < 0 {
		return l.errorf("arrival_s", "found %s, expected a number of seconds that is not negative", quote(f[replayTime]))
	}
	var err error
	if r.In, err = l.tokens("input_tokens", f[replayIn], 1); err != nil {
		return err
	}
	if r.Out, err = l.tokens("output_tokens", f[replayOut], 1); err != nil {
		return err
	}
	for id := range bytes.FieldsSeq(f[replayIDs]) {
		n, err := strconv.ParseInt(string(id), 10, 64)
		if err != nil || n < 0 {
			return l.errorf("prompt_block_ids", "found %s, expected whole numbers from 0 to %d with spaces between them", quote(id), int64(math.MaxInt64))
		}
		content := v.blocks.Stream(uint64(n))
		r.Append = append(r.Append, datasets.Span{Key: content.Uint64(), Tokens: replayBlock})
	}
	if n, want := len(r.Append), r.In/replayBlock; n != want {
		return l.errorf("prompt_block_ids", "found %d ids, expected %d, one for each full block of %d tokens of %d input_tokens", n, want, replayBlock, r.In)
	}
	if left := r.In % replayBlock; left > 0 {
		content := v.own.Stream(v.n)
		r.Append = append(r.Append, datasets.Span{Key: content.Uint64(), Tokens: left})
	}
	return nil
}
