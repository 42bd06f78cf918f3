//go:build !linux && !darwin && !windows

package toolbox

import "time"

// uptime falls back to the wall clock where we know no steady clock: there a clock that is set ahead can end a lease early.
func uptime() time.Duration { return time.Duration(time.Now().UnixNano()) }

func bootName() string { return "" }
