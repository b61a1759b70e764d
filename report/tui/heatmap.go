package tui

import (
	"fmt"
	"math"
	"strings"

	"goodput/loadgen/monitor"
)

// heatmap is latency over time, each cell a number of requests, so that tails and
// stalls are seen that quantiles hide.
func (m *Model) heatmap(w, h int) []string {
	const axis = 10
	k, p := m.inks, &m.pic
	name, columns := "E2E", p.Heat.E2E
	if m.byTTFT {
		name, columns = "TTFT", p.Heat.TTFT
	}
	cells, lo, hi := binned(p, columns, max(w-axis-1, 1))
	if hi < lo {
		return []string{k.write(dim, " no latencies in the window")}
	}
	rows := max(h-4, 1)
	per := (hi - lo + rows) / rows // buckets a line
	tall := 1
	for (hi-lo)/per+1 <= rows/(tall+1) && tall < 6 {
		tall++
	}
	most := uint32(1)
	lines := (hi - lo + per) / per
	merged := make([][]uint32, lines)
	for y := range merged {
		merged[y] = make([]uint32, len(cells))
		for x := range cells {
			for b := lo + y*per; b < min(lo+(y+1)*per, hi+1); b++ {
				merged[y][x] += cells[x][b]
			}
			most = max(most, merged[y][x])
		}
	}
	out := []string{fmt.Sprintf(" %s by when requests ended   %s   most in a cell: %d", k.write(bold, name), heatLegend(k), most), ""}
	for y := lines - 1; y >= 0; y-- {
		label := upper(p, min(lo+(y+1)*per-1, hi))
		for range tall {
			out = append(out, k.write(dim, right(label, axis-2)+" │")+heatLine(k, merged[y], most))
			label = ""
		}
	}
	start, _ := shown(p)
	left := clockText(monitor.Nanos(start))
	lower := span(0)
	if lo > 0 {
		lower = upper(p, lo-1)
	}
	return append(out, k.write(dim, right(lower, axis-2)+"  "+ends(left, clockText(p.Elapsed), max(w-axis-1, 1))))
}

// upper is the upper end of a row.
func upper(p *monitor.Picture, row int) string {
	if row >= len(p.Heat.Bounds) {
		return "longer"
	}
	return span(p.Heat.Bounds[row])
}

// binned spreads the seconds over w cells by their place in the window. lo and hi are
// the lowest and the highest row that is not empty.
func binned(p *monitor.Picture, columns [][]uint32, w int) (cells [][]uint32, lo, hi int) {
	rows := len(p.Heat.Bounds) + 1
	cells = make([][]uint32, w)
	for x := range cells {
		cells[x] = make([]uint32, rows)
	}
	lo, hi = rows, -1
	start, width := shown(p)
	for i, c := range columns {
		if i >= len(p.Series) {
			break
		}
		from := (float64(p.Series[i].At) - start) / width * float64(w)
		to := from + 1e9/width*float64(w)
		first := min(max(int(math.Round(from)), 0), w-1)
		last := min(max(int(math.Round(to)), first+1), w)
		for row, n := range c {
			if n == 0 || row >= rows {
				continue
			}
			lo, hi = min(lo, row), max(hi, row)
			for x := first; x < last; x++ {
				cells[x][row] += n
			}
		}
	}
	return cells, lo, hi
}

// shade is how a cell with n of at most most requests looks, by the logarithm.
func shade(n, most uint32) (ink, string) {
	if n == 0 {
		return plain, " "
	}
	level := 0
	if most > 1 {
		level = min(int(5*math.Log1p(float64(n))/math.Log1p(float64(most))), 4)
	}
	return heat1 + ink(level), [...]string{"·", "░", "▒", "▓", "█"}[level]
}

func heatLine(k *inks, row []uint32, most uint32) string {
	var b strings.Builder
	for x := 0; x < len(row); {
		i, s := shade(row[x], most)
		n := 0
		for x < len(row) {
			if j, _ := shade(row[x], most); j != i {
				break
			}
			n++
			x++
		}
		b.WriteString(k.write(i, strings.Repeat(s, n)))
	}
	return b.String()
}

func heatLegend(k *inks) string {
	s := k.write(dim, "few ")
	for n := range uint32(5) {
		i := heat1 + ink(n)
		s += k.write(i, [...]string{"·", "░", "▒", "▓", "█"}[n])
	}
	return s + k.write(dim, " many")
}
