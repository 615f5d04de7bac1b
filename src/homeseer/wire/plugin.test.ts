import { describe, expect, it } from 'vitest'
import { decodePlugins, encodePlugin } from './plugin.ts'

describe('plug-in record', () => {
  it('is decoded in every known spelling', () => {
    const plugins = decodePlugins({
      Plugins: [{ ID: 'Z-Wave', Name: 'Z-Wave', Version: '4.1', UpdateAvailable: true }, { plugin: 'Hue' }],
    })
    expect(plugins).toMatchObject({
      ok: true,
      value: [
        { id: 'Z-Wave', updateAvailable: true },
        { id: 'Hue', name: 'Hue', updateAvailable: false },
      ],
    })
    expect(encodePlugin({ id: 'a', name: 'A', version: '1', updateAvailable: false, instance: '' })).toMatchObject({
      ID: 'a',
    })
  })
})
