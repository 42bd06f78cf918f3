package toolbox

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime is the time since the machine was started, suspends included: the system moves its boot time along when the wall
// clock is set, so the difference is steady.
func uptime() time.Duration {
	tv, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return 0
	}
	return time.Since(time.Unix(tv.Unix()))
}

// bootName is the session that the kernel names.
func bootName() string {
	name, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return name
}
