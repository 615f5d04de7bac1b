/**
 * Line: what a simulated device needs of a connection, whichever way it goes.
 */
export interface DeviceConnection {
  readonly send: (text: string) => void
  readonly sendAudio: (bytes: Uint8Array) => void
  /** As when the power goes. Devices hang up in no other way. */
  readonly destroy: () => void
}

export interface DeviceConnectionEvents {
  /** Called before the first text, which may come in the same packet as the welcome. */
  readonly opened: (line: DeviceConnection) => void
  readonly text: (text: string) => void
  readonly audio: (bytes: Uint8Array) => void
  /** Any data frame, text or binary: what the 120 s of a channel are counted from. */
  readonly data: () => void
  readonly closed: (reason: string) => void
  readonly answersPings: () => boolean
}
