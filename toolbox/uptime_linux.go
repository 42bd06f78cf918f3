package toolbox

import (
	"os"
	"strings"
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

// bootName is the kernel's random name of this boot (proc_sys_kernel(5)).
func bootName() string {
	name, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}
