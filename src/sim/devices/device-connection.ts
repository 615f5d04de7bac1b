/**
 * Device connection: the interface of a simulated device to its connection, for every transport.
 */
export interface DeviceConnection {
  readonly send: (text: string) => void
  readonly sendAudio: (bytes: Uint8Array) => void
  /** Ends the connection as a power cut would. Devices never close it in another way. */
  readonly destroy: () => void
}

export interface DeviceConnectionEvents {
  /** Called before the first text, which may arrive in the same packet as the upgrade. */
  readonly opened: (line: DeviceConnection) => void
  readonly text: (text: string) => void
  readonly audio: (bytes: Uint8Array) => void
  /** Any data frame, text or binary, from which the 120 s of a channel are counted. */
  readonly data: () => void
  readonly closed: (reason: string) => void
  readonly answersPings: () => boolean
}
