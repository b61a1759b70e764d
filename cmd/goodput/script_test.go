package main

import (
	"bytes"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"goodput/cmd/internal/cli"
)

// TestMain lets the scripts, and the end-to-end tests, run this very program as
// the command goodput.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"goodput":        main,
		"goodput-wait":   waitForListener,
		"goodput-exit":   expectExit,
		"goodput-shards": runShards,
		"goodput-paced":  servePaced,
		"goodput-late-ok": func() {
			if code := cli.Main(cli.OS()); code != 4 {
				os.Exit(code)
			}
		},
	})
}

// waitForListener is a command for scripts: it ends when something listens on the
// address given.
func waitForListener() {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if c, err := net.Dial("tcp", os.Args[1]); err == nil {
			c.Close()
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	log.Fatalf("nothing listens on %s", os.Args[1])
}

// expectExit is a command for scripts: goodput-exit CODE ARGS… is goodput ARGS…, which
// must end with that code.
func expectExit() {
	env := cli.OS()
	want, err := strconv.Atoi(env.Args[0])
	if err != nil {
		log.Fatal(err)
	}
	env.Args = env.Args[1:]
	if code := cli.Main(env); code != want {
		log.Fatalf("exit code %d, expected %d", code, want)
	}
}

// runShards is a command for scripts: goodput-shards COUNT ARGS… runs goodput ARGS… in so
// many processes, each a shard of the load, into the directories s0, s1, …, from a common
// start. A start that was too early for a busy machine is put off. The generators may be
// late.
func runShards() {
	of, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	for lead := 3 * time.Second; lead < time.Minute; lead *= 2 {
		start := time.Now().Add(lead).UTC().Format(time.RFC3339Nano)
		shards := make([]*exec.Cmd, of)
		for i := range shards {
			out := fmt.Sprint("s", i)
			if err := os.RemoveAll(out); err != nil {
				log.Fatal(err)
			}
			args := append(slices.Clone(os.Args[2:]), "--shard", fmt.Sprintf("%d/%d", i, of), "--start-at", start, "--out", out)
			shards[i] = exec.Command("goodput", args...)
			shards[i].Stderr = new(bytes.Buffer)
			if err := shards[i].Start(); err != nil {
				log.Fatal(err)
			}
		}
		again := false
		for _, c := range shards {
			_ = c.Wait()
			said := c.Stderr.(*bytes.Buffer).String()
			tooEarly := strings.Contains(said, "give all parts of the load an instant further ahead")
			if code := c.ProcessState.ExitCode(); code != 0 && code != 4 && !tooEarly {
				log.Fatalf("exit code %d: %s", code, said)
			}
			again = again || tooEarly
		}
		if !again {
			return
		}
	}
	log.Fatal("no start was far enough ahead")
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}
