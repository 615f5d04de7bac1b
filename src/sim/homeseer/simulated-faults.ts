/**
 * Faults: everything that can be made to go wrong in the simulated HomeSeer, as switches a test or a person flips while
 * it runs. All of them are off at the start.
 */
export interface SimulatedHomeseerDeviceFaults {
  /** Between a change of the hardware and HomeSeer showing it. */
  settleMs: number
  /** Refs that accept commands and never move. */
  readonly stuck: Set<number>
  /** Refs whose control is answered with a bare `error`. */
  readonly refused: Set<number>
}

export interface SimulatedHomeseerFaults extends SimulatedHomeseerDeviceFaults {
  /** Before each HTTP answer. */
  replyDelayMs: number
  /** Answers every JSON request with a bare `error`. */
  bareError: boolean
  /** JSON access switched off, as a new HS4 comes. */
  jsonDisabled: boolean
  /** How a wrong login is answered: by status, or by a text with status 200. */
  wrongLogin: 'status-401' | 'response-text'
  /** As many HTTP connections are cut before anything is done. */
  dropBefore: number
  /** As many are cut after the request was carried out, before it is answered. */
  dropAfter: number
  /** As many answers stop in the middle of the body. */
  truncate: number
  /** As many answers are replaced by this status. */
  failWith: { status: number; times: number }
  /** `undefined` sends no content type at all. */
  contentType: string | undefined
  /** The ASCII port accepts and logs in, and pushes nothing. */
  pushSilent: boolean
  /** The ASCII port answers nothing, as a machine that hangs does. */
  asciiDeaf: boolean
  /** Snapshots as base64 in JSON instead of bytes. */
  snapshotAsJson: boolean
  /** The script of the admin adapter is not on this HomeSeer. */
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
