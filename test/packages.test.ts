import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

function read(name: string): Record<string, Record<string, unknown>> {
  return JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')) as never
}

describe('npm packages', () => {
  it('with an install script are exactly those in allowScripts', () => {
    // npm 11 warns about a script that nobody allowed; npm 12 does not run it, and the pinned Node is never installed.
    const scripted = Object.entries(read('package-lock.json')['packages'] ?? {})
      .filter(([, entry]) => (entry as { hasInstallScript?: boolean }).hasInstallScript === true)
      .filter(([, entry]) => (entry as { optional?: boolean }).optional !== true)
      .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
    expect(read('package.json')['allowScripts']).toEqual(Object.fromEntries(scripted.map((name) => [name, true])))
  })
})
