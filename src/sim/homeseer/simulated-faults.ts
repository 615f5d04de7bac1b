/**
 * Simulated faults: the faults of the simulated HomeSeer, as switches that a test or a person sets while it runs. All
 * are off at the start.
 */
export interface SimulatedHomeseerDeviceFaults {
  /** The delay between a change of the hardware and HomeSeer showing it. */
  settleMs: number
  /** Refs that accept commands and never move. */
  readonly stuck: Set<number>
  /** Refs whose control is answered with a bare `error`. */
  readonly refused: Set<number>
}

export interface SimulatedHomeseerFaults extends SimulatedHomeseerDeviceFaults {
  /** The delay before each HTTP answer. */
  replyDelayMs: number
  /** Answers every JSON request with a bare `error`. */
  bareError: boolean
  /** JSON access is switched off, as in a new HS4. */
  jsonDisabled: boolean
  /** How a wrong login is answered: by status, or by a text with status 200. */
  wrongLogin: 'status-401' | 'response-text'
  /** This many HTTP connections are closed before anything is done. */
  dropBefore: number
  /** This many are closed after the request was carried out, before it is answered. */
  dropAfter: number
  /** This many answers end in the middle of the body. */
  truncate: number
  /** This many answers are replaced by this status. */
  failWith: { status: number; times: number }
  /** `undefined` sends no content type at all. */
  contentType: string | undefined
  /** The ASCII port accepts connections and logins, and pushes nothing. */
  pushSilent: boolean
  /** The ASCII port answers nothing, like a machine that hangs. */
  asciiDeaf: boolean
  /** Snapshots as base64 in JSON instead of bytes. */
  snapshotAsJson: boolean
  /** The admin adapter's script is missing on this HomeSeer. */
  adapterMissing: boolean
}

export function createNoHomeseerFaults(): SimulatedHomeseerFaults {
  return {
    settleMs: 10,
    stuck: new Set(),
    refused: new Set(),
    replyDelayMs: 0,
    bareError: false,
    jsonDisabled: false,
    wrongLogin: 'status-401',
    dropBefore: 0,
    dropAfter: 0,
    truncate: 0,
    failWith: { status: 500, times: 0 },
    contentType: 'application/json',
    pushSilent: false,
    asciiDeaf: false,
    snapshotAsJson: false,
    adapterMissing: false,
  }
}
