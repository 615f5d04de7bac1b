import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { DEFAULT_SESSION_SETTINGS, newDeviceSession } from './session.ts'
import type { TraceLine } from '../../../test/device-trace.ts'
import { decodeTrace, encodeTrace, replay } from '../../../test/device-trace.ts'

const TRACES = new URL('../../../test/traces/devices/', import.meta.url)
const NAMES = readdirSync(TRACES).filter((name) => name.endsWith('.jsonl'))

function read(name: string): readonly TraceLine[] {
  const decoded = decodeTrace(readFileSync(new URL(name, TRACES), 'utf8'))
  if (!decoded.ok) throw new Error(`${name}: line ${decoded.fault.line}`)
  return decoded.value
}

describe('device session trace', () => {
  it.each(NAMES)('%s replays with the recorded outputs', (name) => {
    const recorded = read(name)
    const device = 'a0:b1:c2:d3:e4:f5'
    const played = replay(newDeviceSession(device, { ...DEFAULT_SESSION_SETTINGS, firstId: 1 }), recorded)
    // Through JSON, because a trace has no way to say `undefined`.
    expect(decodeTrace(encodeTrace(played))).toEqual({ ok: true, value: recorded })
    expect(recorded.filter((line) => 'out' in line).length).toBeGreaterThan(5)
  })

  it('that cannot be decoded is refused with the number of the invalid line', () => {
    expect(decodeTrace('{"note":"x"}\n\n{"in":')).toEqual({ ok: false, fault: { kind: 'bad-trace', line: 3 } })
    expect(decodeTrace('{"other":1}')).toEqual({ ok: false, fault: { kind: 'bad-trace', line: 1 } })
  })
})
