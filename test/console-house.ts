/**
 * Console house: a real gateway with a small house in it, and a real browser before it.
 *
 * The house answers in the shapes of the families' contracts (specs 1, 3, 4) and everything in it that a stranger could
 * have named has a hostile name. It is a service like any other; guard, ledger and bus are the product's own.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { Service } from '../src/bus/capability.ts'
import { readOwnerToken } from '../src/guard/owner-token-store.ts'
import { configSchema } from '../src/config/schema.ts'
import { silentLogger } from '../src/core/logger.ts'
import { startGateway } from '../src/main.ts'
import type { Gateway } from '../src/main.ts'
import type { SignInLinkView } from '../src/web/views.ts'

const CHROMIUM = '/usr/bin/chromium'
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Debian's browser, or `undefined` after saying loudly that nothing of what needs it was tested. */
export function findChromium(): string | undefined {
  if (existsSync(CHROMIUM)) return CHROMIUM
  process.stderr.write(`\nNOT RUN: ${CHROMIUM} is not here, so the console was not tested in a browser.\n\n`)
  return undefined
}

/** How long a page may take to show something, on a machine that others use, too. */
const PAGE_MS = 60_000

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: 2 * PAGE_MS })
}

/** A browser profile of its own. */
export async function newProfile(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(PAGE_MS)
  return context
}

export interface ConsoleHouse {
  readonly gateway: Gateway
  readonly url: string
  readonly owner: string
  /** A link that signs in once. */
  readonly link: (role?: string) => Promise<string>
  readonly api: (path: string, options?: ApiOptions) => Promise<Response>
  readonly stop: () => Promise<void>
}

interface ApiOptions {
  readonly method?: string
  readonly body?: unknown
  readonly token?: string
  readonly headers?: Record<string, string>
}

export async function openConsoleHouse(
  services: readonly Service[] = [],
  settings: Parameters<typeof configSchema.parse>[0] = {},
): Promise<ConsoleHouse> {
  const data = mkdtempSync(join(tmpdir(), 'hearthbus-console-'))
  const config = configSchema.parse({ logLevel: 'silent', listen: { port: 0 }, ...(settings as object) })
  const started = await startGateway({
    config,
    dataRoot: data,
    version: '0.0.0-test',
    logger: silentLogger,
    listen: true,
    services: () => services,
  })
  if (!started.ok) throw new Error(started.fault.message)
  const { url = '' } = started.value
  const owner = readOwnerToken(join(data, 'keys', 'owner.token'))
  const api = (path: string, { method = 'GET', body, token, headers = {} }: ApiOptions = {}): Promise<Response> =>
    fetch(`${url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  return {
    gateway: started.value,
    url,
    owner,
    api,
    link: async (role = 'admin') => {
      const answer = await api('/api/console/link', { method: 'POST', body: { role }, token: owner })
      return ((await answer.json()) as SignInLinkView).url
    },
    stop: async () => {
      await started.value.stop()
      rmSync(data, { recursive: true, force: true })
    },
  }
}

/** A fresh browser profile, signed in, and everything it complains about. */
export async function signedInPage(
  browser: Browser,
  house: ConsoleHouse,
  options: { readonly role?: string; readonly width?: number; readonly dark?: boolean } = {},
): Promise<{ readonly page: Page; readonly complaints: string[] }> {
  const { role = 'admin', width = 1280, dark = false } = options
  const context = await newProfile(browser, {
    viewport: { width, height: 860 },
    colorScheme: dark ? 'dark' : 'light',
    locale: 'en-GB',
  })
  // As in Safari, for which we have no browser here.
  await context.addInitScript('delete ReadableStream.prototype[Symbol.asyncIterator]')
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(house.url) && !/^(?:data|blob):/.test(request.url()))
      complaints.push(`a request left the machine: ${request.url()}`)
  })
  await page.goto(await house.link(role))
  await page.getByRole('heading', { name: 'House' }).waitFor()
  return { page, complaints }
}
