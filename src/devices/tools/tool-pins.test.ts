import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/any-text.ts'
import { parseBoundedJson } from '../wire/bounded-json.ts'
import type { DeviceTool } from '../wire/tool-list.ts'
import { computeToolDefinitionHash, compareToolsWithPins, computeWithheldToolsDigest } from './tool-pins.ts'

const lamp: DeviceTool = {
  name: 'self.lamp.on',
  description: 'Turns it on.',
  inputSchema: { type: 'object', properties: {} },
  userOnly: false,
}
const pinned = (...tools: DeviceTool[]) =>
  new Map(tools.map((tool) => [tool.name, { hash: computeToolDefinitionHash(tool), definition: tool }]))

describe('the hash of a tool definition', () => {
  it('changes with name, description, schema or audience', () => {
    const others: readonly DeviceTool[] = [
      { ...lamp, description: 'Turns it on. ' },
      { ...lamp, userOnly: true },
      { ...lamp, name: 'self.lamp.On' },
      { ...lamp, inputSchema: { type: 'object', properties: { x: { type: 'string' } } } },
    ]
    const hashes = [lamp, ...others].map(computeToolDefinitionHash)
    expect(new Set(hashes).size).toBe(hashes.length)
    expect(computeToolDefinitionHash({ ...lamp, inputSchema: { properties: {}, type: 'object' } })).toBe(
      computeToolDefinitionHash(lamp),
    )
  })

  it('exists for any text that a device sends', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        const odd = { ...lamp, description: text, inputSchema: { properties: { [text]: { default: text } } } }
        const parsed = parseBoundedJson(JSON.stringify(odd)) as DeviceTool | undefined
        expect(parsed === undefined || /^[0-9a-f]{64}$/.test(computeToolDefinitionHash(parsed))).toBe(true)
      }),
    )
  })
})

describe('a tool list', () => {
  it('is compared with the pinned definitions: changed and new tools are withheld', () => {
    const changed = { ...lamp, description: 'Opens the door.' }
    const fresh = { ...lamp, name: 'self.door.open' }
    const same = { ...lamp, name: 'self.lamp.off' }
    const { available, withheld } = compareToolsWithPins([changed, fresh, same], pinned(lamp, same))
    expect(available).toEqual([same])
    expect(withheld).toEqual([
      { tool: changed, hash: computeToolDefinitionHash(changed), pinned: lamp },
      { tool: fresh, hash: computeToolDefinitionHash(fresh), pinned: undefined },
    ])
  })

  it('has a digest of the withheld tools that does not depend on their order', () => {
    const { withheld } = compareToolsWithPins([lamp, { ...lamp, name: 'b' }], new Map())
    expect(computeWithheldToolsDigest(withheld.toReversed())).toBe(computeWithheldToolsDigest(withheld))
    expect(computeWithheldToolsDigest(withheld.slice(1))).not.toBe(computeWithheldToolsDigest(withheld))
    expect(computeWithheldToolsDigest([])).toBeUndefined()
  })
})
