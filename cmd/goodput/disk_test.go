package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// A record that breaks off is said so in the figures, with the code of an invalid
// measurement; the load goes on to its end.
func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	goodput := command(t, "goodput", "run", "--request-rate", "800", "--num-prompts", "20000", "--json", "--out", dir,
		"--random-input-len", "50", "--random-output-len", "20")
	// A limit on the size of files stands for a full disk: 512 blocks of 512 or
	// 1024 bytes.
	cmd := command(t, "sh", append([]string{"-c", `ulimit -f 512 && exec "$@"`, "sh", goodput.Path}, goodput.Args[1:]...)...)
	cmd.Env = goodput.Env
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 4 {
		t.Fatalf("exit %d, want 4: %s", code, diag.String())
	}
	var j struct {
		Health struct {
			Verdict string
			Why     []string
		}
	}
	if err := json.Unmarshal(out.Bytes(), &j); err != nil {
		t.Fatalf("%v in %q", err, out.String())
	}
	if j.Health.Verdict != "client-limited" || !strings.Contains(strings.Join(j.Health.Why, " "), "file too large") {
		t.Errorf("got %+v", j.Health)
	}
	if !strings.Contains(diag.String(), "recording stopped") {
		t.Errorf("stderr: %s", diag.String())
	}
}
