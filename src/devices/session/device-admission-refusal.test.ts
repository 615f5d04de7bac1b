import { describe, expect, it } from 'vitest'
import { parseDeviceIdFromMqttClientId } from './device-admission-refusal.ts'

describe('the device id in an MQTT client id', () => {
  it.each([
    ['GID_test@@@a0_b1_c2_d3_e4_f5@@@7b94d69a-9808-4c59-9c9b-704333b38aff', 'a0:b1:c2:d3:e4:f5'],
    ['GID_test@@@a0_b1_c2_d3_e4_f5', 'a0:b1:c2:d3:e4:f5'],
    ['doctor', undefined],
    ['', undefined],
    [`x@@@${'a'.repeat(1_000)}`, undefined],
    ['x@@@__proto__', undefined],
  ])('of %s is %s', (clientId, device) => {
    expect(parseDeviceIdFromMqttClientId(clientId)).toBe(device)
  })
})
