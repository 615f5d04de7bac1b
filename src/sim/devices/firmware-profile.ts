/**
 * Firmware profile: the differences between generations of firmware, as data.
 */
/** Two generations in the field, the next one, and the Python client that many people run on a computer. */
export type FirmwareProfileName = 'fw-1.9' | 'fw-2.4' | 'fw-next' | 'py'

export interface FirmwareProfile {
  readonly name: FirmwareProfileName
  readonly firmware: string
  /** Before 2.0 each call ran in a thread of its own; since then everything waits for one main loop. */
  readonly calls: 'threads' | 'main-loop'
  readonly errorCodes: boolean
  /** All C++ firmware inserts error texts between quotes without escaping. */
  readonly escapesErrors: boolean
  /** Up to 2.4.2, an argument of a wrong type counts as missing. */
  readonly wording: 'old' | 'new'
  readonly userTools: boolean
  /** 2.4.0 and later mention it in their hello. */
  readonly glyphPush: boolean
  /** How a failing tool is reported: as an error object, or as a result that is flagged as an error. */
  readonly toolFailure: 'error' | 'result'
  /** Only py-xiaozhi subscribes to the configured topic. */
  readonly subscribes: boolean
  readonly answersClose: boolean
  readonly frameMs: number
}

const FIRMWARE = {
  errorCodes: false,
  escapesErrors: false,
  wording: 'old',
  glyphPush: false,
  toolFailure: 'error',
  subscribes: false,
  answersClose: false,
  frameMs: 60,
} as const

export const FIRMWARE_PROFILES: Readonly<Record<FirmwareProfileName, FirmwareProfile>> = {
  'fw-1.9': { ...FIRMWARE, name: 'fw-1.9', firmware: '1.9.4', calls: 'threads', userTools: false },
  'fw-2.4': { ...FIRMWARE, name: 'fw-2.4', firmware: '2.4.2', calls: 'main-loop', userTools: true, glyphPush: true },
  'fw-next': {
    ...FIRMWARE,
    name: 'fw-next',
    firmware: '2.5.0',
    calls: 'main-loop',
    userTools: true,
    glyphPush: true,
    errorCodes: true,
    wording: 'new',
  },
  py: {
    name: 'py',
    firmware: '2.1.1',
    calls: 'main-loop',
    userTools: false,
    errorCodes: true,
    escapesErrors: true,
    wording: 'new',
    glyphPush: false,
    toolFailure: 'result',
    subscribes: true,
    answersClose: true,
    frameMs: 20,
  },
}
