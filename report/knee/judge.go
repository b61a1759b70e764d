package knee

import (
	"fmt"

	"goodput/loadgen/record"
)

// Tally counts what a clause says of the requests that have ended.
type Tally struct{ Good, Bad int }

// Judge judges the cohort of one trial as its requests end, and knows as soon as the
// verdict is certain. The zero value is not usable.
type Judge struct {
	clauses []Clause
	curtail []Curtailment
	n       int
	joint   Tally
}

// Judge expects a cohort of n requests, n > 0.
func (o *Objective) Judge(n int) (*Judge, error) {
	j := &Judge{clauses: o.Clauses, n: n}
	for i := range o.Clauses {
		c, err := NewCurtailment(n, o.Clauses[i].Share)
		if err != nil {
			return nil, err
		}
		j.curtail = append(j.curtail, *c)
	}
	return j, nil
}

// Add judges a request that ended, and reports whether it met all that is asked of it.
func (j *Judge) Add(r *record.Request) bool {
	met := true
	for i := range j.clauses {
		switch j.clauses[i].judge(r) {
		case good:
			j.curtail[i].Add(true)
		case bad:
			j.curtail[i].Add(false)
			met = false
		default:
			j.curtail[i].Exclude()
		}
	}
	if met {
		j.joint.Good++
	} else {
		j.joint.Bad++
	}
	return met
}

// Unfinished counts k requests whose end nobody waits for.
func (j *Judge) Unfinished(k int) {
	for range k {
		for i := range j.curtail {
			j.curtail[i].Add(false)
		}
		j.joint.Bad++
	}
}

// Decided reports whether the verdict is certain, and which it is: a miss of one clause
// decides, and a pass needs all of them.
func (j *Judge) Decided() (pass, decided bool) {
	pass, decided = true, true
	for i := range j.curtail {
		p, d := j.curtail[i].Decided()
		if d && !p {
			return false, true
		}
		pass, decided = pass && p, decided && d
	}
	return pass && decided, decided
}

// Known is how many requests of the cohort have ended.
func (j *Judge) Known() int { return j.joint.Good + j.joint.Bad }

// Joint counts requests by whether they met everything.
func (j *Judge) Joint() Tally { return j.joint }

// Tallies are the counts of each clause.
func (j *Judge) Tallies() []Tally {
	out := make([]Tally, len(j.curtail))
	for i := range j.curtail {
		out[i].Good, out[i].Bad = j.curtail[i].Counts()
	}
	return out
}

// Empty names a clause that is about no request of a cohort that has ended; "": each is
// about some.
func (j *Judge) Empty() string {
	for i := range j.curtail {
		if good, bad := j.curtail[i].Counts(); good+bad == 0 {
			return fmt.Sprintf("no request of the cohort is one that %q is about", j.clauses[i].text)
		}
	}
	return ""
}
