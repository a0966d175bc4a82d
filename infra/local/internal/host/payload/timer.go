package payload

import (
	"time"
)

// ScheduleStatus is what a schedule monitor keeps about a timer.
type ScheduleStatus struct {
	Last, Next, LastUpdated time.Time
}

// Timer encodes a timer invocation. status is nil when the timer isn't
// monitored.
func Timer(binding string, adjustForDST bool, status *ScheduleStatus, pastDue bool) (Invocation, error) {
	type times struct{ Last, Next, LastUpdated string }
	value := struct {
		Schedule struct {
			AdjustForDST bool
		}
		ScheduleStatus *times
		IsPastDue      bool
	}{IsPastDue: pastDue}
	value.Schedule.AdjustForDST = adjustForDST
	if status != nil {
		value.ScheduleStatus = &times{scheduleTime(status.Last), scheduleTime(status.Next), scheduleTime(status.LastUpdated)}
	}
	var inv Invocation
	err := inv.Data.objects(binding, value)
	return inv, err
}

// scheduleTime writes a local time with its offset, or the default of .NET.
func scheduleTime(t time.Time) string {
	if t.IsZero() {
		return t.Format(dateTime)
	}
	return t.Format(dateTimeFraction + "-07:00")
}
