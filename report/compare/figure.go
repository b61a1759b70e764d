package compare

import (
	"fmt"
	"slices"
	"strings"

	"goodput/report/gate"
)

// Figure is the mean over seeds of a column of the table, by its title, for an arm.
// NaN: the runs have none, or too few requests for it.
func (s *Set) Figure(arm, title string) (float64, error) {
	a := slices.Index(s.Arms, arm)
	if a < 0 {
		return 0, fmt.Errorf("there is no arm %q", arm)
	}
	titles := make([]string, len(measures))
	for i := range measures {
		if titles[i] = measures[i].title; titles[i] == title {
			return s.mean(a, &measures[i]), nil
		}
	}
	return 0, fmt.Errorf("there is no figure %q: use one of %s", title, strings.Join(titles, ", "))
}

// Format prints a figure of a column.
func Format(title string, v float64) string {
	for i := range measures {
		if measures[i].title == title {
			return gate.Known(measures[i].metric).Format(v)
		}
	}
	return fmt.Sprint(v)
}
