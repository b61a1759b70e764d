package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"goodput/report/html"
	"goodput/report/render"
)

// htmlFormat is the value of --format for the page.
const htmlFormat = "html"

// writePage writes the page of the runs in dirs.
func writePage(w io.Writer, dirs []string) error {
	runs, err := loadReports(dirs)
	if err != nil {
		return err
	}
	return html.Write(w, runs)
}

// writePlots writes each chart of the page to a file of its own.
func writePlots(folder string, dirs []string) error {
	runs, err := loadReports(dirs)
	if err != nil {
		return err
	}
	figures, err := html.Plots(runs)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("making the folder of --plots: %w", err)
	}
	for i := range figures {
		if err := os.WriteFile(filepath.Join(folder, figures[i].Name+".svg"), figures[i].File(), 0o666); err != nil {
			return fmt.Errorf("writing a chart: %w", err)
		}
	}
	return nil
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
