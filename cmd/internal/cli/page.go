package cli

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"goodput/report/compare"
	"goodput/report/html"
	"goodput/report/raster"
	"goodput/report/render"
)

// htmlFormat is the value of --format for the page.
const htmlFormat = "html"

// writePage writes the page of the runs in dirs.
func writePage(w io.Writer, dirs []string) error {
	if slices.ContainsFunc(dirs, isComparison) {
		s, err := onlyComparison(dirs)
		if err != nil {
			return err
		}
		return html.WriteComparison(w, s)
	}
	if slices.ContainsFunc(dirs, isSweep) {
		sweeps, err := loadSweeps(dirs)
		if err != nil {
			return err
		}
		return html.WriteSweeps(w, sweeps)
	}
	runs, err := loadReports(dirs)
	if err != nil {
		return err
	}
	return html.Write(w, runs)
}

// The values of --plots-format.
const (
	svgPlots = "svg"
	pngPlots = "png"
)

// plotDots are the dots of a PNG for each unit of a chart, which is 400 wide.
const plotDots = 3

// writePlots writes each chart of the page to a file of its own.
func writePlots(folder, format string, dirs []string) error {
	figures, err := chartsOf(dirs)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("making the folder of --plots: %w", err)
	}
	for i := range figures {
		text := figures[i].File()
		if format == pngPlots {
			if text, err = dots(text); err != nil {
				return fmt.Errorf("%s: %w", figures[i].Name, err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, figures[i].Name+"."+format), text, 0o666); err != nil {
			return fmt.Errorf("writing a chart: %w", err)
		}
	}
	return nil
}

// dots is a chart as PNG.
func dots(svg []byte) ([]byte, error) {
	picture, err := raster.Draw(svg, plotDots)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = png.Encode(&b, picture)
	return b.Bytes(), err
}

func loadReports(dirs []string) ([]*render.Report, error) {
	var runs []*render.Report
	for _, dir := range dirs {
		r, err := loadReport(dir)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// chartsOf are the charts of the page of dirs.
func chartsOf(dirs []string) ([]html.Figure, error) {
	if slices.ContainsFunc(dirs, isComparison) {
		s, err := onlyComparison(dirs)
		if err != nil {
			return nil, err
		}
		return html.ComparisonPlots(s)
	}
	if slices.ContainsFunc(dirs, isSweep) {
		sweeps, err := loadSweeps(dirs)
		if err != nil {
			return nil, err
		}
		return html.SweepPlots(sweeps)
	}
	runs, err := loadReports(dirs)
	if err != nil {
		return nil, err
	}
	return html.Plots(runs)
}

// onlyComparison reads the one of a page, which holds nothing besides.
func onlyComparison(dirs []string) (*compare.Set, error) {
	if len(dirs) > 1 {
		return nil, exitf(exitUsage, "%s: a page of a comparison holds nothing else: give its directory alone", strings.Join(dirs, " "))
	}
	return loadComparison(dirs[0])
}

// loadSweeps reads those of one page, which holds no runs besides.
func loadSweeps(dirs []string) ([]*render.Sweep, error) {
	var out []*render.Sweep
	for _, dir := range dirs {
		if !isSweep(dir) {
			return nil, exitf(exitUsage, "%s is no sweep, and others are: make a page of sweeps, or one of runs", dir)
		}
		s, err := loadSweep(dir)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}
