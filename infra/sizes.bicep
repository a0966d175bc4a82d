// The three sizes, each with its arithmetic. docs/capacity.md has the same as
// tables, with the prices and the sources of the numbers.
//
// One delivery is 1 event of about 1.5 KB, 1 message (3 at most, with a wake and
// a notice), 5 calls to backends and 9 operations on Cosmos DB. Those cost, by
// container, in request units (a read twice, since consistency is Strong: 1 for 1 KB,
// 1.3 for 4 KB; 5.5 to create 1 KB, 7 to create 4 KB, twice that to replace; half of
// one for an indexed path), and then to delete it at the end of its lifetime:
//   transactions  create 8.1, replace 16.1, and a client's GET 2.6   26.8 + 8.1 = 34.9
//   requests      create 5.5, if the client gives the id or a key     5.5 + 5.5 = 11
//   checkpoints   replace 11 per batch of Relay's; of 10 events and more          1.1
//   accounts      read                                                            2
//   packages      create                                                6 + 6   = 12
//   bookings      create                                              5.5 + 5.5 = 11
//   deliveries    create                                              6.1 + 6.1 = 12.2
//   assignments   create 5.6, replace 11.1                           16.7 + 5.6 = 22.3
//   drones        query of a page 6, replace 12 (two indexed paths)              18
// together 87.7 + 36.8 = 124.5, of which 77.5 are the sample backends'.
//
// A container with autoscale also needs a maximum of 10 RU/s for each GB that it
// holds. A document has, with its index, some KB: transactions 4, deliveries 1.5,
// assignments 1.2, packages and bookings 1, requests 0.5; and lives for
// lifetimes.documentDays after its end, which is a day or less after the request
// where a pickup is soon; packages and bookings for pickupDays besides
// (docs/adr/0019-what-has-ended-expires.md).

@export()
type appSize = {
  instanceMemoryMB: 512 | 2048 | 4096
  @description('Instances of the app, of all its functions together.')
  maximumInstanceCount: int
  @description('Requests that run at once in one instance before another one starts.')
  httpConcurrency: int
  @description('Instances that are kept running, by http or function:NAME.')
  alwaysReady: { name: string, instanceCount: int }[]
}

@export()
type size = {
  @description('Decided for good with the first deployment, like the tiers and Standard\'s partitions.')
  zoneRedundant: bool
  @description('Recreate stops instances, which costs repeats and a pause. RollingUpdate drains them before it replaces them; it is a preview, and not for production.')
  updateStrategy: 'RollingUpdate' | 'Recreate'
  eventHubs: {
    sku: 'Standard' | 'Premium'
    units: int
    @description('What a Standard namespace may grow to by itself; 0: it does not.')
    maximumUnits: int
    partitions: int
  }
  serviceBus: {
    sku: 'Standard' | 'Premium'
    @description('Of Premium.')
    messagingUnits: int
    @description('Of one queue.')
    maxMegabytes: int
  }
  cosmos: {
    serverless: bool
    @description('Autoscale maximum in RU/s by container.')
    throughput: object
  }
  @description('In days: how long ended documents are kept, which must be more than a queue\'s messages and the 7 days of the hub together; how long a queue keeps messages; how far ahead a pickup may be.')
  lifetimes: { documentDays: int, queueDays: int, pickupDays: int }
  fleet: {
    drones: int
    zones: int
    @description('Multiplies the time of every flight of the simulated fleet.')
    timeScale: string
  }
  @description('The part of the deliveries that is traced, from 0 to 1.')
  traceRatio: string
  logLevel: 'debug' | 'info' | 'warn' | 'error'
  workflow: appSize
  backends: appSize
}

@export()
var sizes = {
  // 50 requests/s sustained, spikes of 500/s. Costs next to nothing at rest.
  small: {
    zoneRedundant: false
    updateStrategy: 'Recreate'
    eventHubs: {
      sku: 'Standard' // Premium starts at more than all the rest of this size
      units: 1 // 1 MB/s and 1000 events/s in: 500/s x 1.5 KB = 0.75 MB/s
      maximumUnits: 4
      partitions: 4 // as locally
    }
    serviceBus: {
      sku: 'Standard' // 1000 credits/s in a namespace: 50/s x 3 (send, receive, complete) = 150
      messagingUnits: 1
      maxMegabytes: 5120 // the largest: 5 GB / (50/s x 1.7 KB) = 16 hours without Schedule; then the hub holds on
    }
    cosmos: {
      serverless: true // up to 5000 RU/s per container, more with its partitions: 50/s x 34.9 = 1745
      throughput: {}
    }
    lifetimes: { documentDays: 30, queueDays: 14, pickupDays: 30 } // 1.5 TB in all
    fleet: {
      drones: 1000 // a flight holds a drone for some 15 minutes: 1000 / 900 s = 1.1/s; at 0.02: 55/s
      zones: 10
      timeScale: '0.02'
    }
    traceRatio: '1' // 50/s x 40 spans of 1 KB = 2 MB/s at the limit, 170 GB a day; 1 % of that in a test
    logLevel: 'info'
    workflow: {
      instanceMemoryMB: 2048
      maximumInstanceCount: 40 // 500/s / 400 (one instance's) = 2 for HTTP, 4 for Relay, 1 for Schedule
      httpConcurrency: 50 // 400/s x 0.1 s = 40
      alwaysReady: []
    }
    backends: {
      instanceMemoryMB: 2048
      maximumInstanceCount: 40 // 50/s x 5 calls / 500 = 1
      httpConcurrency: 50
      alwaysReady: []
    }
  }
  // 10 000 requests/s sustained, spikes of 50 000/s.
  standard: {
    zoneRedundant: true
    updateStrategy: 'Recreate'
    eventHubs: {
      sku: 'Premium' // 40 units of Standard take 40 MB/s: a spike of 50 000/s x 1.5 KB is 75 MB/s
      units: 16 // 75 MB/s / 5 MB/s (a unit takes 5 to 10) = 15; 12 and 16 are to be had
      maximumUnits: 0
      partitions: 100 // the most; a partition and its writer take 500 events/s each in the spike
    }
    serviceBus: {
      sku: 'Premium'
      messagingUnits: 16 // 10 000/s x 1.7 KB = 17 MB/s / 4 = 4.3, x 2 for duplicate detection = 8.5; next is 16
      maxMegabytes: 81920 // the largest: 80 GB / 17 MB/s = 80 minutes without Schedule; then the hub holds on, for 7 days
    }
    cosmos: {
      serverless: false
      throughput: { // 10 000/s x the above, with a tenth to spare; or the GB x 10
        transactions: 560000 // 10 000/s x 4 KB x 16 days = 55 TB: 553 000; 384 000 for the units
        requests: 121000 // 6.5 TB: 65 000
        quarantine: 4000 // nothing in health; it may be throttled, and the messages come again
        checkpoints: 12000
        accounts: 22000
        packages: 200000 // 10 000/s x 1 KB x 23 days = 20 TB: 199 000
        bookings: 200000
        assignments: 246000 // 17 TB: 166 000
        deliveries: 208000 // 10 000/s x 1.5 KB x 16 days = 21 TB: 207 000
        drones: 198000
      }
    }
    lifetimes: { documentDays: 15, queueDays: 7, pickupDays: 7 } // 139 TB in all; 30, 14 and 30 would be 335 TB
    fleet: {
      drones: 1000000 // the most that there may be: 1 000 000 / (900 s x 0.1) = 11 000/s
      zones: 1000 // 10 000/s / 1000 x 18 RU = 180 RU/s in a zone, which is one logical partition (10 000)
      timeScale: '0.1'
    }
    traceRatio: '0.001' // 10/s x 40 spans of 1 KB = 35 GB a day; all would be 35 TB
    logLevel: 'warn' // a line per state would be 10 000/s x 6 x 0.4 KB = 2 TB a day
    workflow: {
      instanceMemoryMB: 2048
      maximumInstanceCount: 500 // spike: 50 000/s / 400 = 125 HTTP, 100 Relay (one a partition), 10 000/s x 0.5 s / 64 = 79 Schedule, the rest 20: 324
      httpConcurrency: 50
      alwaysReady: [
        { name: 'http', instanceCount: 27 } // 10 000/s / 400 = 25, in three zones
        { name: 'function:Relay', instanceCount: 3 } // zones make it 2 of every other function, without being asked
        { name: 'function:Schedule', instanceCount: 9 } // the others start within a minute; until then the hub holds
      ]
    }
    backends: {
      instanceMemoryMB: 2048
      maximumInstanceCount: 250 // 10 000/s x 5 / 500 = 100, and as many again while a backlog is worked off
      httpConcurrency: 50
      alwaysReady: [
        { name: 'http', instanceCount: 15 }
      ]
    }
  }
  // What one namespace of each kind and one account carry: 18 000 requests/s
  // sustained, spikes of 53 000/s.
  large: {
    zoneRedundant: true
    updateStrategy: 'Recreate'
    eventHubs: {
      sku: 'Premium'
      units: 16 // the most: 16 x 5 MB/s / 1.5 KB = 53 000/s
      maximumUnits: 0
      partitions: 100
    }
    serviceBus: {
      sku: 'Premium'
      messagingUnits: 16 // the most: 16 x 4 MB/s / 2 / 1.7 KB = 18 800/s
      maxMegabytes: 81920
    }
    cosmos: {
      serverless: false
      throughput: { // 18 000/s x the above, with a tenth to spare; or the GB x 10
        transactions: 1000000 // the most without a request to support: 18 000/s x 4 KB x 16 days = 99.5 TB: 995 000
        requests: 218000
        quarantine: 4000
        checkpoints: 22000
        accounts: 40000
        packages: 358000 // 18 000/s x 1 KB x 23 days = 36 TB: 358 000
        bookings: 358000
        assignments: 442000
        deliveries: 374000
        drones: 357000
      }
    }
    lifetimes: { documentDays: 15, queueDays: 7, pickupDays: 7 }
    fleet: {
      drones: 1000000 // / (900 s x 0.05) = 22 000/s
      zones: 1000
      timeScale: '0.05'
    }
    traceRatio: '0.001'
    logLevel: 'warn'
    workflow: {
      instanceMemoryMB: 2048
      maximumInstanceCount: 500 // spike: 53 000/s / 400 = 133 HTTP, 100 Relay, 18 000/s x 0.5 s / 64 = 141 Schedule, the rest 20: 394
      httpConcurrency: 50
      alwaysReady: [
        { name: 'http', instanceCount: 48 } // 18 000/s / 400 = 45, in three zones
        { name: 'function:Relay', instanceCount: 6 }
        { name: 'function:Schedule', instanceCount: 24 }
      ]
    }
    backends: {
      instanceMemoryMB: 2048
      maximumInstanceCount: 400 // 18 000/s x 5 / 500 = 180, and as many again
      httpConcurrency: 50
      alwaysReady: [
        { name: 'http', instanceCount: 27 }
      ]
    }
  }
}
