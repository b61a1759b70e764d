package trace

import "time"

// parseTimestamp reads "2006-01-02 15:04:05", then optionally a point and one to
// nine digits, then optionally a zone: Z, or a sign with hours and minutes
// ("+00:00"). Without a zone the time is UTC. The result is nanoseconds since
// 1970, exact; years are 1970 to 2261, so that it fits.
func parseTimestamp(b []byte) (ns int64, ok bool) {
	const shape = "0000-00-00 00:00:00"
	if len(b) < len(shape) {
		return 0, false
	}
	for i := range len(shape) {
		if isDigit(b[i]) != (shape[i] == '0') || !isDigit(b[i]) && b[i] != shape[i] {
			return 0, false
		}
	}
	year, month, day := number(b[0:4]), number(b[5:7]), number(b[8:10])
	hour, minute, second := number(b[11:13]), number(b[14:16]), number(b[17:19])
	if year < 1970 || year > 2261 || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if t.Day() != day { // time.Date carries a day that the month lacks into the next one
		return 0, false
	}
	fraction, rest, ok := parseFraction(b[len(shape):])
	if !ok {
		return 0, false
	}
	east, ok := parseZone(rest)
	return (t.Unix()-east)*1e9 + fraction, ok
}

// parseFraction reads the digits after a decimal point, if there is one, as
// nanoseconds. rest is what follows them.
func parseFraction(b []byte) (ns int64, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '.' {
		return 0, b, true
	}
	n := 1
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	digits := n - 1
	if digits < 1 || digits > 9 {
		return 0, b, false
	}
	ns = int64(number(b[1:n]))
	for ; digits < 9; digits++ {
		ns *= 10
	}
	return ns, b[n:], true
}

// parseZone reads a time zone as seconds east of UTC. Nothing is UTC.
func parseZone(b []byte) (east int64, ok bool) {
	if len(b) == 0 || string(b) == "Z" {
		return 0, true
	}
	if len(b) != len("+00:00") || (b[0] != '+' && b[0] != '-') || b[3] != ':' ||
		!isDigit(b[1]) || !isDigit(b[2]) || !isDigit(b[4]) || !isDigit(b[5]) {
		return 0, false
	}
	hours, minutes := number(b[1:3]), number(b[4:6])
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	east = int64(hours*3600 + minutes*60)
	if b[0] == '-' {
		east = -east
	}
	return east, true
}

// number reads up to nine digits, which must be digits.
func number(b []byte) int {
	n := 0
	for _, c := range b {
		n = 10*n + int(c-'0')
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
