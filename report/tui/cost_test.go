//go:build unix

package tui_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
	"goodput/report/tui"
)

// boarded is a Source over a board that is fed.
type boarded struct {
	board *monitor.Board
	feed  *monitor.Feed
	mon   *monitor.Monitor
}

func (b boarded) Picture(q monitor.Query) (monitor.Picture, error) {
	b.board.Drain(b.feed)
	return b.board.Picture(b.mon, clock.Never, q), nil
}

// processorTime is what the process has taken so far: on a machine that is busy with
// something else it says more than the wall's time.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTenth is what a tenth of a second costs at 2,000 requests/s: to note 200
// requests, to draw a picture of them, and the frame. Ten of them a second are the share
// of a core that a view takes.
func BenchmarkTenth(b *testing.B) {
	for i, s := range tui.OfRun() {
		b.Run(s.String(), func(b *testing.B) {
			b.ReportAllocs()
			src := boarded{monitor.NewBoard(monitor.About{}), monitor.NewFeed(), monitor.New(0)}
			src.mon.Tell(src.feed)
			var r record.Request
			r.Reset()
			r.Outcome, r.PromptTokens, r.OutputTokens = record.OK, 512, 64
			at, n := clock.Time(time.Second), int64(0)
			feed := func() {
				for range 200 {
					at, n = at.Add(500*time.Microsecond), n+1
					r.Seq, r.Replica = n, [4]string{"0", "1", "2", "3"}[n%4]
					r.Intended, r.Dispatched, r.FirstToken, r.LastToken = at-9e8-clock.Time(n*7919%int64(1e8)), at-9e8, at-8e8+clock.Time(n%97*1e6), at
					src.mon.Started(at)
					src.mon.Ended(at, &r)
				}
			}
			var m tea.Model = tui.New(src, tui.Options{Colors: termenv.TrueColor})
			m, _ = m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
			m = press(m, fmt.Sprint(i+1))
			for range 600 { // a minute
				feed()
				src.board.Drain(src.feed)
			}
			before := processorTime(b)
			for b.Loop() {
				feed()
				m, _ = m.Update(m.Init()())
				_ = m.View()
			}
			b.ReportMetric(100*10*(processorTime(b)-before).Seconds()/float64(b.N), "core-%")
		})
	}
}

// BenchmarkSamePicture is what it costs to draw a picture that is the one before, as while
// the view is paused: ten of them a second are the share of a core that could be saved.
func BenchmarkSamePicture(b *testing.B) {
	for i, s := range tui.OfRun() {
		b.Run(s.String(), func(b *testing.B) {
			m := shown(120, 40, tui.Options{Colors: termenv.TrueColor}, seeded(), fmt.Sprint(i+1), "p")
			before := processorTime(b)
			for b.Loop() {
				m, _ = m.Update(m.Init()())
				_ = m.View()
			}
			b.ReportMetric(100*10*(processorTime(b)-before).Seconds()/float64(b.N), "core-%")
		})
	}
}
