package steptime

import (
	"fmt"
	"io/fs"
	"math"

	"goodput/profiles"
)

// experts is the time of the expert block of all layers, gate included, on one
// GPU, as a function of its tokens and of the number of different experts that
// these go to.
type experts struct {
	grid
	// local is the number of experts on the GPU, chance the share of them that one
	// token goes to, and scale the measured tokens that stand for one.
	local, chance, scale float64
}

// at is in picoseconds. Experts are taken as equally likely and tokens as
// independent, so that of n experts n(1-(1-chance)^tokens) are in use.
func (x *experts) at(tokens int) float64 {
	n := float64(tokens)
	used := x.local * (1 - math.Pow(1-x.chance, n))
	n = max(n*x.scale, x.axes[0][0])
	return max(0, x.grid.at([4]float64{n, max(used, x.axes[1][0])}))
}

// readExperts reads moe.csv for a GPU that holds an ep-th of the model's experts.
// Rows that were measured for such a GPU are preferred. Otherwise those of a GPU
// with all experts are taken: of a token's work an ep-th is done here, so that an
// ep-th of the tokens makes as much.
func readExperts(files fs.FS, m *profiles.Model, ep, layers int) (*experts, error) {
	const name = "moe.csv"
	full := []string{"ep", "tokens", "activated_experts", "time_us"}
	byDegree := map[int][]sample{}
	seen := map[[3]int]bool{}
	err := readCSV(files, name, [][]string{full, full[1:]}, func(r *row) error {
		at := [3]int{1}
		missing := len(full) - len(r.header) // 1: no column ep
		for i := missing; i < 3; i++ {
			n, err := r.count(i-missing, 1)
			if err != nil {
				return err
			}
			at[i] = n
		}
		if at[2] > m.Experts {
			return r.errorf(2-missing, "%d experts are more than the %d of %s", at[2], m.Experts, m.Name)
		}
		ps, err := r.picoseconds(3 - missing)
		if err != nil {
			return err
		}
		if seen[at] {
			return r.errorf(0, "this point is there twice")
		}
		seen[at] = true
		byDegree[at[0]] = append(byDegree[at[0]], sample{[4]float64{float64(at[1]), float64(at[2])}, ps * float64(layers)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	x := &experts{local: float64(m.Experts) / float64(ep), chance: float64(m.ExpertsPerToken) / float64(m.Experts), scale: 1}
	samples := byDegree[ep]
	if samples == nil {
		samples, x.scale = byDegree[1], 1/float64(ep)
	}
	if samples == nil {
		return nil, fmt.Errorf("%s: no rows with ep %d or 1: experts cannot be timed", name, ep)
	}
	if x.grid, err = newGrid(samples); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return x, nil
}
