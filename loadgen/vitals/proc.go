package vitals

import (
	"os"
	"strconv"
	"strings"
)

// Linux tells these in text files. Elsewhere they are absent, and the numbers -1.

// machineTicks is how much time all processors have passed, and how much of it busy.
func machineTicks() (all, busy int64, ok bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, false
	}
	return parseStat(string(text))
}

// parseStat reads the first line of /proc/stat: user nice system idle iowait irq
// softirq steal, and the time of guests, which user and nice hold already.
func parseStat(text string) (all, busy int64, ok bool) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[0] != "cpu" {
		return 0, 0, false
	}
	const idle, wait, last = 3, 4, 7
	for i, f := range fields[1:] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil || n < 0 {
			return 0, 0, false
		}
		if i > last {
			break
		}
		all += n
		if i != idle && i != wait {
			busy += n
		}
	}
	return all, busy, true
}

// openFiles counts the file descriptors of the process.
func openFiles() int64 {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return -1
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return -1
	}
	return int64(len(names)) - 1 // that of the folder
}

// tcpSockets counts those of IPv4 in this network, in use or in TIME_WAIT.
func tcpSockets() int64 {
	text, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		return -1
	}
	return parseSockstat(string(text))
}

func parseSockstat(text string) int64 {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "TCP:" {
			continue
		}
		sum, found := int64(0), false
		for i := 1; i+1 < len(fields); i += 2 {
			n, err := strconv.ParseInt(fields[i+1], 10, 64)
			if err == nil && (fields[i] == "inuse" || fields[i] == "tw") {
				sum, found = sum+n, true
			}
		}
		if found {
			return sum
		}
	}
	return -1
}

// portRange is how many local ports the system gives out by itself.
func portRange() int64 {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return -1
	}
	return parseRange(string(text))
}

func parseRange(text string) int64 {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return -1
	}
	lo, err1 := strconv.ParseInt(fields[0], 10, 32)
	hi, err2 := strconv.ParseInt(fields[1], 10, 32)
	if err1 != nil || err2 != nil || hi < lo {
		return -1
	}
	return hi - lo + 1
}
