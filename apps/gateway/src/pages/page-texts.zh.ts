import type { PageTexts } from './page-texts.en.js';

export const CHINESE: PageTexts = {
  language: 'zh-CN',
  someApplication: '应用',
  address: '邮箱地址',
  account: '账号',

  verify: {
    title: '验证邮箱地址',
    lead: '这是您的邮箱吗？点击下方按钮即可完成验证。',
    action: '验证此邮箱',
    note: '不认识这个账号？关闭本页即可，不会有任何变化。',
  },
  verified: {
    title: '邮箱验证成功',
    lead: '感谢您的确认。现在可以关闭本页，返回 {name}。',
  },
  alreadyVerified: {
    title: '邮箱已验证',
    lead: '此邮箱之前已经验证过，无需再次操作。',
  },

  reset: {
    title: '设置新密码',
    lead: '设置后请使用新密码登录。',
    password: '新密码',
    rule: '至少 8 个字符。用几个词连成一句，好记又不易被猜到。',
    repeat: '再次输入新密码',
    action: '确认修改',
    note: '修改后，已登录的设备都需要重新登录。',
    refusal: '密码未修改。请查看下方标出的问题，然后重新输入。',
    mistakes: {
      missing: '请输入密码。',
      tooShort: '密码至少需要 8 个字符。',
      refused: '此密码无法使用，请换一个。',
    },
    different: '与上面输入的密码不一致。',
  },
  wasReset: {
    title: '密码修改成功',
    lead: '现在可以关闭本页，使用新密码登录 {name}。',
  },

  expired: {
    verifyEmail: {
      title: '链接已失效',
      lead: '验证邮箱的链接只在数天内有效；账号更换邮箱后，链接也会失效。',
    },
    resetPassword: {
      title: '链接已失效',
      lead: '设置新密码的链接只能使用一次，并且只在短时间内有效。如果您刚刚提交过新密码，它可能已经生效，请先尝试登录。',
    },
    canBeRenewed: '我们可以向 {name} 发送新的链接。',
    action: '发送新链接',
    cannotBeRenewed: '请在应用中重新申请。',
  },
  renewed: {
    title: '新链接已发出',
    lead: '请在一两分钟后查看邮箱，也请检查垃圾邮件文件夹。现在可以关闭本页。',
  },
  tooManyMails: {
    title: '请稍候再试',
    lead: '我们已经向此邮箱发送过邮件。请查看收件箱和垃圾邮件文件夹；如果没有收到，请稍后重试。',
  },

  failures: {
    malformed: {
      title: '操作未完成',
      lead: '无法识别此请求，没有任何更改。请重新打开邮件中的链接。',
    },
    notFound: { title: '页面不存在', lead: '请重新打开邮件中的链接。' },
    tooManyRequests: {
      title: '请稍候再试',
      lead: '来自您所在网络的请求过多，请稍后重试。',
    },
    unavailable: {
      title: '服务暂时不可用',
      lead: '暂时无法连接服务。请一分钟后重新打开邮件中的链接。',
    },
    internal: {
      title: '出了点问题',
      lead: '这是我们的问题。请稍后重新打开邮件中的链接。',
    },
  },
};
