/**
 * Firmware MCP server: the part of a device that answers requests. It parses payloads at once, and runs tools and
 * answers on the main loop.
 *
 * Does I/O: tools take time, and cameras post pictures.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Json, JsonObject } from '../../core/json.ts'
import type { SimulatedBoard } from './simulated-board.ts'
import { createSimulatedBoard } from './simulated-board.ts'
import type { SimulatedIdentity } from './identity.ts'
import { createSystemInfo } from './identity.ts'
import type { McpPayloadEffect } from './mcp-payload-handler.ts'
import { encodeToolFailure, handleMcpPayload, encodeToolReturn } from './mcp-payload-handler.ts'
import { MainLoop } from './main-loop.ts'
import { postPhoto } from './photo-client.ts'
import { downloadImageAndCountBytes, uploadSnapshot } from './screen-image-client.ts'
import type { FirmwareProfile } from './firmware-profile.ts'
import { FIRMWARE_PROFILES } from './firmware-profile.ts'
import type { SimulatedDeviceFaults, DeviceSimulatorOptions } from './simulated-device.ts'
import type { FirmwareToolArguments, FirmwareTool } from './firmware-tool.ts'

/** The firmware's limit for one WebSocket message. */
export const MAX_SENT_WEBSOCKET_MESSAGE_BYTES = 65_535

export interface FirmwareMcpServerOptions {
  readonly device: DeviceSimulatorOptions
  readonly faults: SimulatedDeviceFaults
  /** Sends a JSON-RPC payload, which on real firmware is not always valid JSON. */
  readonly send: (payload: string) => void
  readonly reboot: () => void
  readonly drop: () => void
}

export class FirmwareMcpServer {
  readonly board: SimulatedBoard
  readonly loop = new MainLoop()
  readonly #options: FirmwareMcpServerOptions
  readonly #profile: FirmwareProfile
  readonly #identity: SimulatedIdentity
  #vision: { readonly url: string; readonly token: string } | undefined

  constructor(options: FirmwareMcpServerOptions) {
    this.#options = options
    this.#profile = FIRMWARE_PROFILES[options.device.profile]
    this.#identity = options.device.identity
    const profile = this.#profile
    const identity = this.#identity
    this.board = createSimulatedBoard(options.device.kind, {
      firmware: profile.firmware,
      systemInfo: () => createSystemInfo(identity, profile, this.board.name),
      reboot: options.reboot,
      hasAssets: profile.name === 'fw-next',
      upload: uploadSnapshot,
      download: downloadImageAndCountBytes,
      explain: (question, jpeg) => postPhoto({ vision: this.#vision, identity, profile, question, jpeg }),
    })
  }

  receive(payload: Json | undefined): void {
    const { faults, drop } = this.#options
    if (faults.silent) return
    const action = handleMcpPayload({ profile: this.#profile, board: this.board.name, tools: this.#tools() }, payload)
    if (action.kind === 'run' && faults.dropOnCall) drop()
    else if (action.kind === 'run' && this.#profile.calls === 'threads') void this.#run(action)
    else if (action.kind === 'run') this.loop.schedule(() => this.#run(action))
    else if (action.kind === 'reply') {
      this.#vision = action.vision ?? this.#vision
      this.#reply(action.text)
    }
  }

  notify(method: string, params: JsonObject): void {
    const { send } = this.#options
    this.loop.schedule(() => send(JSON.stringify({ jsonrpc: '2.0', method, params })))
  }

  async #run({ id, tool, arguments: args }: Extract<McpPayloadEffect, { kind: 'run' }>): Promise<void> {
    this.#reply(await this.#outcome(id, tool, args))
  }

  /** Queued behind everything that was scheduled before. */
  #reply(payload: string): void {
    const { faults, send } = this.#options
    this.loop.schedule(async () => {
      if (faults.lateMs > 0) await delay(faults.lateMs, undefined, { ref: false })
      // Cut inside of the text, with a control character at the end, so that no parser accepts it.
      send(faults.garbled ? `${payload.slice(0, -9)}\u0001"` : payload)
    })
  }

  async #outcome(id: number, tool: FirmwareTool, args: FirmwareToolArguments): Promise<string> {
    if (tool.takesMs !== undefined) await delay(tool.takesMs)
    try {
      const returned = await tool.run(args)
      return encodeToolReturn(
        id,
        this.#options.faults.oversizedReply ? 'x'.repeat(MAX_SENT_WEBSOCKET_MESSAGE_BYTES) : returned,
      )
    } catch (error) {
      return encodeToolFailure(this.#profile, id, error instanceof Error ? error.message : 'failed')
    }
  }

  #tools(): readonly FirmwareTool[] {
    const huge: FirmwareTool = { name: 'self.huge', description: 'x'.repeat(9_000), properties: [], run: () => true }
    const tools = [
      ...this.board.tools,
      ...(this.#options.device.tools ?? []),
      ...(this.#options.faults.oversizedTool ? [huge] : []),
    ]
    return this.#profile.userTools ? tools : tools.filter((tool) => tool.userOnly !== true)
  }
}
