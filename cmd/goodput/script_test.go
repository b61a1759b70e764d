package main

import (
	"log"
	"net"
	"os"
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
	}
	log.Fatalf("nothing listens on %s", os.Args[1])
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}
