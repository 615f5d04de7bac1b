import { describe, expect, it } from 'vitest'

import { fromHex, toHex } from '../../core/bytes.ts'
import {
  queueInfoRequest,
  resetInfoRequestQueue,
  newInfoRequestQueue,
  nextInfoRequest,
  handleInfoAnswer,
} from './info-requests.ts'
import type { AdapterInfoId } from './adapter-info.ts'
import { EMPTY_ADAPTER_INFO, listTelemetryInfoIds, applyInfoAnswer } from './adapter-info.ts'

const told = (id: AdapterInfoId, data: string) => applyInfoAnswer(EMPTY_ADAPTER_INFO, id, fromHex(data), 1_000)

describe('adapter info', () => {
  it('reads a version answer of 2, 5 or 8 bytes', () => {
    expect(told(0, '2601')).toMatchObject({ versionLength: 2, firmwareVersion: '26', features: 1, jumpers: undefined })
    expect(told(0, '26015c310b')).toMatchObject({ versionLength: 5, firmwareChecksum: '5c31', jumpers: 0x0b })
    expect(told(0, '26015c310b029a07')).toMatchObject({ bootloaderVersion: '02', bootloaderChecksum: '9a07' })
    expect(told(0, '260101')).toMatchObject({ versionLength: undefined, firmwareVersion: undefined })
  })

  it('reads temperature, supply and bus voltage, Wi-Fi reception and the cause of the last restart', () => {
    expect(told(3, '0022').celsius).toBe(34)
    expect(told(4, '139d').supplyMillivolts).toBe(5_021)
    expect(told(4, '0000').supplyMillivolts).toBeUndefined()
    expect(told(5, 'c161')).toMatchObject({ busMaxDecivolts: 193, busMinDecivolts: 97 })
    expect(told(6, '0302')).toMatchObject({ resetCause: 'watchdog', resetCauseCode: 3, restartCount: 2 })
    expect(told(6, '6302').resetCause).toBe('unknown')
    expect(told(7, 'c6').rssiDbm).toBe(-58)
    expect(told(7, 'c600').rssiDbm).toBeUndefined()
  })

  it('requests reception only from an adapter with Wi-Fi', () => {
    expect(listTelemetryInfoIds(told(0, '26015c3103'))).not.toContain(7)
    expect(listTelemetryInfoIds(told(0, '26015c310b'))).toContain(7)
  })
})

describe('INFO request queue', () => {
  function openDesk() {
    const desk = newInfoRequestQueue()
    resetInfoRequestQueue(desk, 0x01)
    const answers: string[] = []
    return {
      desk,
      answers,
      asker: (data: Uint8Array | undefined) => void answers.push(data === undefined ? '-' : toHex(data)),
    }
  }

  it('sends one INFO request at a time, and answers equal requests together', () => {
    const { desk, answers, asker } = openDesk()
    queueInfoRequest(desk, 3, asker)
    queueInfoRequest(desk, 3, asker)
    queueInfoRequest(desk, 4, asker)
    expect([nextInfoRequest(desk, 0), nextInfoRequest(desk, 0)]).toEqual([3, undefined])
    handleInfoAnswer(desk, 3, fromHex('0022'), 0)
    expect(answers).toEqual(['0022', '0022'])
    expect(nextInfoRequest(desk, 1)).toBe(4)
  })

  it('answers immutable information from its cache', () => {
    const { desk, answers, asker } = openDesk()
    handleInfoAnswer(desk, 1, fromHex('348518'), 0)
    queueInfoRequest(desk, 1, asker)
    expect(answers).toEqual(['348518'])
    expect(nextInfoRequest(desk, 0)).toBeUndefined()
  })

  it('gives an INFO request up after a second and continues with the next one', () => {
    const { desk, answers, asker } = openDesk()
    queueInfoRequest(desk, 3, asker)
    queueInfoRequest(desk, 4, asker)
    nextInfoRequest(desk, 0)
    expect(nextInfoRequest(desk, 1_000)).toBe(4)
    expect(answers).toEqual(['-'])
  })

  it('answers requests at once for an adapter without INFO, and drops cached values on reset', () => {
    const { desk, answers, asker } = openDesk()
    handleInfoAnswer(desk, 1, fromHex('348518'), 0)
    resetInfoRequestQueue(desk, 0x00)
    queueInfoRequest(desk, 1, asker)
    expect(answers).toEqual(['-'])
    expect(desk.info).toMatchObject({ infoSupported: false, hardwareId: undefined })
  })
})
