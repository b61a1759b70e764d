package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/record"
)

// TestAPlanIsOfferedAgain: a run of an exported plan leaves the rows of a run of what
// it was made from: instants, lengths, groups, sessions, planned and found hits,
// outcomes and times. Only ids that are made of the plan's hash differ.
func TestAPlanIsOfferedAgain(t *testing.T) {
	for _, c := range []struct {
		name       string
		load, rest []string // what plan and run have in common, and what only runs have
	}{
		{"random", []string{"--num-prompts", "60"}, []string{"--request-rate", "8"}},
		{"prefix_repetition", []string{"--dataset-name", "prefix_repetition", "--num-prompts", "60", "--prefix-repetition-zipf", "1"}, []string{"--request-rate", "20"}},
		{"shared_prefix", []string{"--dataset-name", "shared_prefix", "--shared-prefix-num-groups", "5", "--shared-prefix-num-turns", "3", "--num-prompts", "60"}, []string{"--request-rate", "20"}},
		{"rag", []string{"--dataset-name", "rag", "--num-prompts", "40"}, []string{"--request-rate", "8"}},
		{"closed loop", []string{"--dataset-name", "rag", "--num-prompts", "40"}, []string{"--concurrency", "4"}},
		{"sub-agents and compaction", []string{"--dataset-name", "agent", "--agent-preset", "coding-128k", "--num-sessions", "6"}, []string{"--sessions-rate", "0.1", "--sessions-drain", "10h"}},
		{"chats, live", []string{"--dataset-name", "agent", "--agent-preset", "chat", "--num-sessions", "6"}, []string{"--sessions-rate", "0.1", "--agent-history", "live", "--sessions-drain", "10h"}},
		{"a trace with times", []string{"--dataset-name", "goodput", "--dataset-path", "../../../datasets/trace/testdata/goodput_min.jsonl", "--trace-sessions", "open"}, nil},
		{"a trace of sessions", []string{"--dataset-name", "tracelab", "--dataset-path", "../../../datasets/trace/testdata/tracelab_replay_min.csv"}, []string{"--ignore-eos"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("virtual time runs on one goroutine")
			}
			file := filepath.Join(t.TempDir(), "plan.jsonl")
			common := append([]string{"--seed", "7"}, c.load...)
			var log bytes.Buffer
			env := Env{
				Args: append([]string{"dataset", "plan", "--output", file}, common...), Stdout: &log, Stderr: &log,
				Getenv: func(string) string { return "" },
			}
			if code := Main(env); code != exitOK {
				t.Fatalf("exit code %d: %s", code, log.String())
			}
			rest := append([]string{"--seed", "7", "--replicas", "2", "--engine.num-gpu-blocks", "9000"}, c.rest...)
			want, _ := runOf(t, slices.Concat(rest, c.load)...)
			got, _ := runOf(t, slices.Concat(rest, []string{"--dataset-name", "trace", "--dataset-path", file})...)
			if len(want) == 0 || len(got) != len(want) {
				t.Fatalf("%d rows became %d", len(want), len(got))
			}
			for i := range want {
				if diff := cmp.Diff(unnamed(want[i]), unnamed(got[i])); diff != "" {
					t.Fatalf("row %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// TestAnExportLeavesLinks: what an export is written to through a link stays a link, and
// an export that fails leaves what was there.
func TestAnExportLeavesLinks(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("before, and longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	write := func(text string, end error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, end)
		}
	}
	if err := writeStream(link, write("by link", nil)); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != "file" {
		t.Errorf("the link leads to %q: %v", to, err)
	}
	if err := writeStream(file, write("half", errors.New("broke off"))); err == nil {
		t.Error("an export that broke off was taken for whole")
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "by link" {
		t.Errorf("the file holds %q: %v", got, err)
	}
	if err := writeStream(file, write("whole", nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "whole" {
		t.Errorf("the file holds %q: %v", got, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
		t.Errorf("%d files are left, want the file and the link: %v", len(all), err)
	}
}

// unnamed is a row without what is made of the plan's hash.
func unnamed(r record.Request) record.Request {
	r.RunID, r.RequestID, r.TraceID = "", "", [16]byte{}
	return r
}
