/**
 * A call that goes to another node, followed in the consoles of both.
 */
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findChromium, newProfile, openBrowser } from '../console-house.ts'
import { picture, walkTo } from '../console-walk.ts'
import { call, cli, closeAll, formCommunity } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'

const chromium = findChromium()
let nodes: readonly MeshNode[] = []
let browser: Browser

describe.skipIf(chromium === undefined)('the consoles of two nodes', () => {
  beforeAll(async () => {
    nodes = await formCommunity(['cellar', 'attic'])
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await closeAll(nodes)
  })

  it('show the same call as outgoing on one node and incoming on the other', async () => {
    const [cellar, attic] = nodes
    if (cellar === undefined || attic === undefined) throw new Error('two nodes were to be made')
    const { traceId, outcome } = await call(cellar, 'test.only.attic', { x: 1 })
    expect(outcome).toBe('ok')

    const here = await signIn(cellar)
    await walkTo(here, 'calls')
    await here.getByLabel('Outcome').selectOption('on another node')
    await here.getByRole('row').filter({ hasText: 'test.only.attic' }).first().click()
    await here.getByRole('heading', { name: 'What happened' }).waitFor()
    expect(new URL(here.url()).hash).toBe(`#/calls/${traceId}`)
    const hop = await here.locator('.hop.remote').innerText()
    expect(hop).toMatch(/^cellar → attic test\.only\.attic/)
    // The other node's own record, asked for through the bus, with a proof against the other node's ledger.
    const far = here.getByRole('region', { name: 'On attic' })
    await far.getByText('call.exit').first().waitFor()
    expect(await far.innerText()).toMatch(/audit exit\n/)
    const download = here.waitForEvent('download')
    await far
      .getByRole('button', { name: /Save proof/ })
      .last()
      .click()
    const proof = readFileSync(await (await download).path(), 'utf8')
    const origin = await far.locator('h3 .aside').innerText()
    expect(proof).toContain(`\n${origin}\n`)
    expect(origin).toContain('attic')
    await picture(here, 'two-nodes')

    const there = await signIn(attic)
    await walkTo(there, `calls/${traceId}`)
    expect(await there.locator('.hop').innerText()).toMatch(/^cellar → attic test\.only\.attic/)
    await there.getByText('call.exit').first().waitFor()
  })

  it('show the other node as a picture and in a table', async () => {
    const [cellar] = nodes
    if (cellar === undefined) throw new Error('two nodes were to be made')
    const page = await signIn(cellar)
    await walkTo(page, 'bus')
    expect(await page.locator('.bus-picture').getAttribute('aria-label')).toContain('1 other nodes')
    expect(await page.getByRole('table', { name: 'Other nodes' }).innerText()).toContain('attic')
  })

  it('say when the other node does not answer', async () => {
    const [cellar, attic] = nodes
    if (cellar === undefined || attic === undefined) throw new Error('two nodes were to be made')
    const { traceId } = await call(cellar, 'test.only.attic', { x: 2 })
    const page = await signIn(cellar)
    await attic.stop()
    await walkTo(page, `calls/${traceId}`)
    await page.getByText(/does not tell about it now/).waitFor()
    expect(await page.locator('main').innerText()).toContain(`hearthbus trace ${traceId}`)
  })
})

async function signIn(node: MeshNode): Promise<Page> {
  const page = await (await newProfile(browser, { viewport: { width: 1280, height: 860 }, locale: 'en-GB' })).newPage()
  await page.goto(String(cli(node.home, 'console')['url']))
  await page.getByRole('heading', { name: 'House' }).waitFor()
  return page
}
