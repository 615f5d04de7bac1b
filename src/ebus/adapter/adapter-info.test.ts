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

const applyAnswer = (id: AdapterInfoId, data: string) => applyInfoAnswer(EMPTY_ADAPTER_INFO, id, fromHex(data), 1_000)

describe('adapter info', () => {
  it('reads a version answer of 2, 5 or 8 bytes', () => {
    expect(applyAnswer(0, '2601')).toMatchObject({
      versionLength: 2,
      firmwareVersion: '26',
      features: 1,
      jumpers: undefined,
    })
    expect(applyAnswer(0, '26015c310b')).toMatchObject({ versionLength: 5, firmwareChecksum: '5c31', jumpers: 0x0b })
    expect(applyAnswer(0, '26015c310b029a07')).toMatchObject({ bootloaderVersion: '02', bootloaderChecksum: '9a07' })
    expect(applyAnswer(0, '260101')).toMatchObject({ versionLength: undefined, firmwareVersion: undefined })
  })

  it('reads temperature, supply and bus voltage, Wi-Fi reception and the cause of the last restart', () => {
    expect(applyAnswer(3, '0022').celsius).toBe(34)
    expect(applyAnswer(4, '139d').supplyMillivolts).toBe(5_021)
    expect(applyAnswer(4, '0000').supplyMillivolts).toBeUndefined()
    expect(applyAnswer(5, 'c161')).toMatchObject({ busMaxDecivolts: 193, busMinDecivolts: 97 })
    expect(applyAnswer(6, '0302')).toMatchObject({ resetCause: 'watchdog', resetCauseCode: 3, restartCount: 2 })
    expect(applyAnswer(6, '6302').resetCause).toBe('unknown')
    expect(applyAnswer(7, 'c6').rssiDbm).toBe(-58)
    expect(applyAnswer(7, 'c600').rssiDbm).toBeUndefined()
  })

  it('requests reception only from an adapter with Wi-Fi', () => {
    expect(listTelemetryInfoIds(applyAnswer(0, '26015c3103'))).not.toContain(7)
    expect(listTelemetryInfoIds(applyAnswer(0, '26015c310b'))).toContain(7)
  })
})

describe('INFO request queue', () => {
  function openQueue() {
    const queue = newInfoRequestQueue()
    resetInfoRequestQueue(queue, 0x01)
    const answers: string[] = []
    return {
      desk: queue,
      answers,
      callback: (data: Uint8Array | undefined) => void answers.push(data === undefined ? '-' : toHex(data)),
    }
  }

  it('sends one INFO request at a time, and answers equal requests together', () => {
    const { desk: queue, answers, callback } = openQueue()
    queueInfoRequest(queue, 3, callback)
    queueInfoRequest(queue, 3, callback)
    queueInfoRequest(queue, 4, callback)
    expect([nextInfoRequest(queue, 0), nextInfoRequest(queue, 0)]).toEqual([3, undefined])
    handleInfoAnswer(queue, 3, fromHex('0022'), 0)
    expect(answers).toEqual(['0022', '0022'])
    expect(nextInfoRequest(queue, 1)).toBe(4)
  })

  it('answers immutable information from its cache', () => {
    const { desk: queue, answers, callback } = openQueue()
    handleInfoAnswer(queue, 1, fromHex('348518'), 0)
    queueInfoRequest(queue, 1, callback)
    expect(answers).toEqual(['348518'])
    expect(nextInfoRequest(queue, 0)).toBeUndefined()
  })

  it('gives an INFO request up after a second and continues with the next one', () => {
    const { desk: queue, answers, callback } = openQueue()
    queueInfoRequest(queue, 3, callback)
    queueInfoRequest(queue, 4, callback)
    nextInfoRequest(queue, 0)
    expect(nextInfoRequest(queue, 1_000)).toBe(4)
    expect(answers).toEqual(['-'])
  })

  it('answers requests at once for an adapter without INFO, and drops cached values on reset', () => {
    const { desk: queue, answers, callback } = openQueue()
    handleInfoAnswer(queue, 1, fromHex('348518'), 0)
    resetInfoRequestQueue(queue, 0x00)
    queueInfoRequest(queue, 1, callback)
    expect(answers).toEqual(['-'])
    expect(queue.info).toMatchObject({ infoSupported: false, hardwareId: undefined })
  })
})
