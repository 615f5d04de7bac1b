import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assignCapabilityNames } from './tool-capability-names.ts'

const named = (...names: string[]) => {
  const result = assignCapabilityNames(
    'kitchen',
    names.map((name) => ({ name })),
  )
  return Object.fromEntries(result.named.map(({ capability, tool }) => [tool.name, capability]))
}

describe('capability names of device tools', () => {
  it('contain the tool name of the device unchanged', () => {
    expect(named('self.lamp.turn_on', 'get_weather')).toEqual({
      'self.lamp.turn_on': 'device.kitchen.self.lamp.turn_on',
      get_weather: 'device.kitchen.get_weather',
    })
  })

  it('replace characters that clients do not accept, and append a hash of the tool name', () => {
    expect(named('查询天气', 'a b', 'a/b', 'x..y', '.hidden')).toEqual({
      查询天气: 'device.kitchen.tool-22cf3c76',
      'a b': 'device.kitchen.a_b-c8687a08',
      'a/b': 'device.kitchen.a_b-c14cddc0',
      'x..y': 'device.kitchen.x_y-c0e705fa',
      '.hidden': 'device.kitchen.hidden-16924190',
    })
  })

  it('leave a name to the tool that has it literally, and report the other as collided', () => {
    const odd = named('a b')['a b'] ?? ''
    const plain = odd.replace('device.kitchen.', '')
    const { named: all, collided } = assignCapabilityNames('kitchen', [{ name: 'a b' }, { name: plain }])
    expect(all).toEqual([{ capability: odd, tool: { name: plain } }])
    expect(collided).toEqual([{ name: 'a b' }])
  })

  it('are valid, unique, and independent of the order of the list', () => {
    const names = fc.uniqueArray(fc.oneof(fc.string({ minLength: 1, maxLength: 300 }), fc.constantFrom('a.b', 'a_b')))
    fc.assert(
      fc.property(names, (list) => {
        const one = named(...list)
        expect(named(...list.toReversed())).toEqual(one)
        for (const capability of Object.values(one)) {
          expect(capability).toMatch(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/)
          expect(capability).toMatch(/^device\.kitchen\../)
        }
        expect(new Set(Object.values(one)).size).toBe(Object.keys(one).length)
      }),
    )
  })
})
