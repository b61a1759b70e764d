package trace

import (
	"math"
	"strconv"
)

// parseDecimal reads a decimal number of units of unit ns, exact to the nanosecond;
// further digits are cut. An exponent is read by way of a float64.
func parseDecimal(b []byte, unit int64) (ns int64, ok bool) {
	negative := len(b) > 0 && b[0] == '-'
	digits := b
	if negative {
		digits = b[1:]
	}
	whole, i := int64(0), 0
	for ; i < len(digits) && isDigit(digits[i]); i++ {
		d := int64(digits[i] - '0')
		if whole > (math.MaxInt64/unit-d-1)/10 {
			return 0, false
		}
		whole = 10*whole + d
	}
	if i == 0 {
		return 0, false
	}
	ns = whole * unit
	if i < len(digits) && digits[i] == '.' {
		place := unit
		i++
		if i == len(digits) {
			return 0, false
		}
		for ; i < len(digits) && isDigit(digits[i]); i++ {
			place /= 10
			ns += place * int64(digits[i]-'0')
		}
	}
	if i < len(digits) {
		return parseScientific(b, unit)
	}
	if negative {
		ns = -ns
	}
	return ns, true
}

func parseScientific(b []byte, unit int64) (ns int64, ok bool) {
	for _, c := range b {
		if !isDigit(c) && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(string(b), 64)
	v = math.Round(v * float64(unit))
	if err != nil || !(math.Abs(v) < 1<<62) {
		return 0, false
	}
	return int64(v), true
}

// formatDecimal is the inverse of parseDecimal, with no more digits than needed.
func formatDecimal(ns, unit int64) string {
	sign := ""
	if ns < 0 {
		sign, ns = "-", -ns
	}
	text := sign + strconv.FormatInt(ns/unit, 10)
	rest := ns % unit
	if rest == 0 {
		return text
	}
	text += "."
	for place := unit / 10; rest > 0; place /= 10 {
		text += strconv.FormatInt(rest/place, 10)
		rest %= place
	}
	return text
}
