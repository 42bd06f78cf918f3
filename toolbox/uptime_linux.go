package toolbox

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime is the time since the machine was started, suspends included (clock_gettime(2), CLOCK_BOOTTIME).
func uptime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
