package main

import (
	"log"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"goodput/cmd/internal/cli"
)

// TestMain lets the scripts, and the end-to-end tests, run this very program as
// the command goodput.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"goodput":      main,
		"goodput-wait": waitForListener,
		"goodput-exit": expectExit,
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

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}
