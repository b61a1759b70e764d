package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/plan"
	"goodput/report/compare"
)

func TestDirectArm(t *testing.T) {
	set := func(urls ...string) []compare.Setting {
		var out []compare.Setting
		for _, u := range urls {
			out = append(out, compare.Setting{Key: "base-url", Value: u})
		}
		return out
	}
	for _, c := range []struct {
		name string
		in   armFlags
		want []arm
		err  string
	}{
		{
			"one router",
			armFlags{urls: []string{"http://r"}, direct: []string{"http://e1", "http://e2"}},
			[]arm{{viaArm, set("http://r")}, {compare.DirectArm, set("http://e1", "http://e2")}},
			"",
		},
		{
			"two routers",
			armFlags{urls: []string{"a=http://a", "b=http://b"}, direct: []string{"http://e"}},
			[]arm{{"a", set("http://a")}, {"b", set("http://b")}, {compare.DirectArm, set("http://e")}},
			"",
		},
		{"no router", armFlags{direct: []string{"http://e"}}, nil, "--base-url"},
		{"a router of that name", armFlags{urls: []string{"direct=http://a"}, direct: []string{"http://e"}}, nil, "two arms are named direct"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.in.list(func(string, string) error { return nil })
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(arm{})); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestDirectOnScreen: run --direct makes two runs, and --tui shows both, beside each
// other; what is of one run only is refused.
func TestDirectOnScreen(t *testing.T) {
	p := plan.Default()
	router, engine := newServeRig(t, p, 1), newServeRig(t, p, 1)
	dir := t.TempDir()
	args := func(more ...string) []string {
		return append([]string{
			"run", "--base-url", router.url, "--model", "m", "--direct", engine.url, "--request-rate", "20", "--num-prompts", "20",
			"--random-input-len", "8", "--random-output-len", "4", "--metrics-interval", "0", "--out", filepath.Join(dir, "d"),
		}, more...)
	}
	for _, flag := range [][]string{{"--monitor-listen", "127.0.0.1:0"}, {"--tui", "--tui-control"}} {
		env, _ := drainedScreen(t)
		var said bytes.Buffer
		env.Args, env.Stderr = args(flag...), &said
		if code := Main(env); code != exitUsage || !strings.Contains(said.String(), "--tui shows both") {
			t.Errorf("%v: exit code %d: %s", flag, code, said.String())
		}
	}
	var frames bytes.Buffer
	read := make(chan struct{})
	env, out := screenOn(t, func(f *os.File) {
		go func() {
			defer close(read)
			_, _ = io.Copy(&frames, f)
		}()
	})
	env.Args = args("--tui")
	if code := Main(env); code != exitOK && code != exitInvalid { // on a busy machine requests leave late
		t.Fatalf("exit code %d: %s", code, out.String())
	}
	_ = env.Screen.Close()
	<-read
	for _, want := range []string{"1 Compare", "direct 0/1", "under way"} {
		if !strings.Contains(ansi.Strip(frames.String()), want) {
			t.Errorf("no %q on the screen", want)
		}
	}
	if len(router.take()) == 0 || len(engine.take()) == 0 {
		t.Error("one of the two was not asked")
	}
}
