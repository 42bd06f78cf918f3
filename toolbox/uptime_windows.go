package toolbox

import (
	"time"

	"golang.org/x/sys/windows"
)

// uptime is the time since the machine was started, suspends included (GetTickCount64).
func uptime() time.Duration { return windows.DurationSinceBoot() }

// bootName is empty: an uptime that is lower than before tells of a new start.
func bootName() string { return "" }
